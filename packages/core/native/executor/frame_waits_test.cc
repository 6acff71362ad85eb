// Branches and loops beside nodes that wait: what a dead token starts, and what ends a wait.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

size_t memory_in_use() { return Allocator::process().stats().in_use; }

// A step's rendezvous, options with it, and the other side.
struct Meeting {
  LocalRendezvous* place = new LocalRendezvous;
  StepOptions options;
  Meeting() {
    options.rendezvous = place;
    options.deadline = Clock::now() + std::chrono::seconds(60);
  }
  ~Meeting() { place->unref(); }

  void send(const std::string& tensor, const std::string& tag, float value) {
    Token token;
    CHECK(token.value.allocate(DType::kFloat32, Shape(), &Allocator::process()));
    *token.value.view.as<float>() = value;
    send_token(tensor, tag, std::move(token));
  }
  void send_dead(const std::string& tensor, const std::string& tag) {
    send_token(tensor, tag, {{}, true});
  }

 private:
  void send_token(const std::string& tensor, const std::string& tag, Token token) {
    CHECK(place->send({"/job:here", "/job:there", tensor, tag}, std::move(token)).ok());
  }
};

// What is received at once from a rendezvous.
struct Received final : public Waiter {
  void wake(const Status& status, std::span<Token> tokens) override {
    CHECK_EQ(status.message, "");
    CHECK_EQ(tokens.size(), 1u);
    token = std::move(tokens[0]);
    times = 1;
  }
  Received(Meeting* meeting, const std::string& tensor, const std::string& tag) {
    meeting->place->receive({"/job:here", "/job:there", tensor, tag}, this);
    CHECK_EQ(times, 1);
  }
  ~Received() = default;
  Token token;
  int times = 0;
};

std::string iteration(int number) { return "loop:" + std::to_string(number); }

// while (i < n) { i += 1; total += the value received in this iteration }
struct Summing {
  Summing(TestGraph* graph, int parallel) : loop(graph, "loop", parallel) {
    const int n = graph->arg();
    const int i = loop.variable(graph->constant({0}));
    loop.variable(graph->constant({0}));
    loop.condition(graph->less(i, loop.constant(n)));
    const int inside = graph->on("Identity", {loop.in_body(0)});
    received = graph->receive("x:0", {inside});
    loop.next(0, {graph->add(inside, graph->constant({1})), 0});
    loop.next(1, {graph->on("TestAdd", {loop.in_body(1), {received, 0}}), 0});
    total = loop.result(1);
  }
  TestLoop loop;
  int received, total;
};

TEST(each_iteration_receives_its_own_value) {
  for (int threads : {1, 3}) {
    for (int parallel : {1, 4}) {
      TestGraph graph;
      const Summing summing(&graph, parallel);
      auto executable = compile(test_runtime(threads), graph, {summing.total});
      size_t in_use = 0;
      for (int round = 0; round < 20; ++round) {
        {
          Meeting meeting;
          std::thread sender([&] {
            for (int k = 0; k < 30; ++k) meeting.send("x:0", iteration(k), static_cast<float>(k));
          });
          CHECK_EQ(run(executable.get(), {{30}}, meeting.options).value(), 435);
          sender.join();
          CHECK(meeting.place->empty());
        }
        if (round == 5) in_use = memory_in_use();
        if (round > 5) CHECK_EQ(memory_in_use(), in_use);
      }
    }
  }
}

TEST(iterations_wait_at_the_same_time) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const Summing summing(&graph, 5);
    auto executable = compile(test_runtime(threads), graph, {summing.total});
    Meeting meeting;
    // Answers the last one first: without several waits of one node it would never come.
    std::thread sender([&] {
      for (int k = 4; k >= 0; --k) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        meeting.send("x:0", iteration(k), 1);
      }
    });
    CHECK_EQ(run(executable.get(), {{5}}, meeting.options).value(), 5);
    sender.join();
  }
}

// x > 0 ? the value received then : x
int receive_if_positive(TestGraph* graph, int x) {
  const int chosen = graph->switch_on({x, 0}, graph->less(graph->constant({0}), x));
  const int taken = graph->on("Identity", {{chosen, 1}});
  const int received = graph->receive("x:0", {taken});
  const int other = graph->on("Identity", {{chosen, 0}});
  return graph->merge({{received, 0}, {other, 0}});
}

TEST(what_is_dead_does_not_begin_to_wait) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int merged = receive_if_positive(&graph, graph.arg());
    auto executable = compile(test_runtime(threads), graph, {merged});
    Meeting meeting;
    CHECK_EQ(run(executable.get(), {{-3}}, meeting.options).value(), -3);
    CHECK(meeting.place->empty());
    meeting.send("x:0", "", 7);
    CHECK_EQ(run(executable.get(), {{3}}, meeting.options).value(), 7);
    CHECK(meeting.place->empty());
  }
}

TEST(a_dead_token_that_is_received_kills_what_uses_it) {
  TestGraph graph;
  const int x = graph.arg();
  const int merged = receive_if_positive(&graph, x);
  const int received = graph.receive("y:0");
  const int used = graph.add(received, x);
  const int unless = graph.merge({{used, 0}, {merged, 0}});
  const int effect = graph.no_op({used});
  auto executable = compile(test_runtime(), graph, {unless});
  {
    Meeting meeting;
    meeting.send_dead("y:0", "");
    CHECK_EQ(run(executable.get(), {{-3}}, meeting.options).value(), -3);
  }
  auto targeted = compile(test_runtime(), graph, {merged}, {effect});
  Meeting meeting;
  meeting.send_dead("y:0", "");
  const Outcome outcome = run(targeted.get(), {{-3}}, meeting.options);
  CHECK_EQ(outcome.status.code, StatusCode::kInvalidArgument);
  CHECK_EQ(outcome.status.node, effect);
}

TEST(a_dead_value_is_sent_as_a_dead_token) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int x = graph.arg();
    const int chosen = graph.switch_on({x, 0}, graph.less(graph.constant({0}), x));
    const int sent = graph.send("x:0", graph.on("Identity", {{chosen, 1}}));
    auto executable = compile(test_runtime(threads), graph, {}, {sent});
    for (const float fed : {-1.0f, 1.0f}) {
      Meeting meeting;
      CHECK_EQ(run(executable.get(), {{fed}}, meeting.options).status.message, "");
      const Received received(&meeting, "x:0", "");
      CHECK_EQ(received.token.is_dead, fed < 0);
      CHECK(meeting.place->empty());
    }
  }
}

TEST(a_loop_sends_in_each_iteration) {
  TestGraph graph;
  const int n = graph.arg();
  TestLoop loop(&graph, "loop");
  const int i = loop.variable(graph.constant({0}));
  loop.condition(graph.less(i, loop.constant(n)));
  const int next = graph.on("TestAdd", {loop.in_body(0), {graph.constant({1}), 0}});
  loop.next(0, {next, 0});
  const int sent = graph.send("x:0", next);
  auto executable = compile(test_runtime(), graph, {loop.result(0)}, {sent});
  Meeting meeting;
  CHECK_EQ(run(executable.get(), {{2}}, meeting.options).value(), 2);
  for (int k = 0; k < 2; ++k) {
    const Received received(&meeting, "x:0", iteration(k));
    CHECK_EQ(*received.token.value.view.as<float>(), static_cast<float>(k + 1));
  }
  CHECK(Received(&meeting, "x:0", iteration(2)).token.is_dead);
  CHECK(meeting.place->empty());
}

TEST(a_wait_in_a_loop_ends_at_the_deadline_and_says_where) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const Summing summing(&graph, 1);
    auto executable = compile(test_runtime(threads), graph, {summing.total});
    Meeting meeting;
    meeting.send("x:0", iteration(0), 1);
    meeting.options.deadline = Clock::now() + std::chrono::milliseconds(30);
    const Outcome outcome = run(executable.get(), {{3}}, meeting.options);
    CHECK_EQ(outcome.status.code, StatusCode::kDeadlineExceeded);
    const std::string awaited = "'x:0' from /job:here (in iteration loop:1)";
    CHECK(outcome.status.message.find(awaited) != std::string::npos);
    CHECK(meeting.place->empty());
  }
}

TEST(cancellation_ends_waits_in_a_loop) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const Summing summing(&graph, 4);
    auto executable = compile(test_runtime(threads), graph, {summing.total});
    size_t in_use = 0;
    for (int round = 0; round < 10; ++round) {
      {
        Meeting meeting;
        Cancellation cancellation;
        meeting.options.cancellation = &cancellation;
        meeting.send("x:0", iteration(0), 1);
        std::thread canceller([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(round));
          cancellation.cancel(StatusCode::kCancelled, "enough");
        });
        CHECK_EQ(run(executable.get(), {{9}}, meeting.options).status.message, "enough");
        canceller.join();
      }
      if (round == 3) in_use = memory_in_use();
      if (round > 3) CHECK_EQ(memory_in_use(), in_use);
    }
  }
}

TEST(an_abort_ends_waits_in_a_loop_with_its_cause) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const Summing summing(&graph, 4);
    auto executable = compile(test_runtime(threads), graph, {summing.total});
    Meeting meeting;
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      meeting.place->abort(error(StatusCode::kUnavailable, "the other side is gone"));
    });
    const Outcome outcome = run(executable.get(), {{9}}, meeting.options);
    aborter.join();
    CHECK_EQ(outcome.status.code, StatusCode::kUnavailable);
    CHECK_EQ(outcome.status.message.find("the other side is gone"), 0u);
    CHECK_EQ(outcome.status.node, summing.received);
  }
}

TEST(a_failure_elsewhere_ends_waits_in_a_loop) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const Summing summing(&graph, 4);
    const int bad = graph.fail("too bad", {graph.receive("go:0")});
    auto executable = compile(test_runtime(threads), graph, {summing.total}, {bad});
    for (int round = 0; round < 20; ++round) {
      Meeting meeting;
      std::thread sender([&] { meeting.send("go:0", "", 1); });
      CHECK_EQ(run(executable.get(), {{9}}, meeting.options).status.message, "too bad");
      sender.join();
      CHECK(meeting.place->empty());
    }
  }
}

TEST(a_loop_meets_itself_in_every_iteration) {
  for (int threads : {1, 3}) {
    for (int parallel : {1, 4}) {
      TestGraph graph;
      const int n = graph.arg();
      TestLoop loop(&graph, "loop", parallel);
      const int i = loop.variable(graph.constant({0}));
      loop.condition(graph.less(i, loop.constant(n)));
      const int next = graph.on("TestAdd", {loop.in_body(0), {graph.constant({1}), 0}});
      const int sent = graph.send("x:0", next);
      const int received = graph.receive("x:0", {i});
      loop.next(0, {received, 0});
      auto executable = compile(test_runtime(threads), graph, {loop.result(0)}, {sent});
      for (int round = 0; round < 10; ++round) {
        Meeting meeting;
        CHECK_EQ(run(executable.get(), {{50}}, meeting.options).value(), 50);
        CHECK(meeting.place->empty());
      }
    }
  }
}

TEST(expensive_nodes_behind_waits_in_iterations_are_shared_out) {
  TestGraph graph;
  const int n = graph.arg();
  TestLoop loop(&graph, "loop", 8);
  const int i = loop.variable(graph.constant({0}));
  loop.variable(graph.constant({0}));
  loop.condition(graph.less(i, loop.constant(n)));
  const int inside = graph.on("Identity", {loop.in_body(0)});
  const int slow = graph.sleep(1, {graph.receive("x:0", {inside})});
  loop.next(0, {graph.add(inside, graph.constant({1})), 0});
  loop.next(1, {graph.on("TestAdd", {loop.in_body(1), {slow, 0}}), 0});
  auto executable = compile(test_runtime(3), graph, {loop.result(1)});
  for (int round = 0; round < 10; ++round) {
    Meeting meeting;
    std::thread sender([&] {
      for (int k = 0; k < 8; ++k) meeting.send("x:0", iteration(k), 1);
    });
    CHECK_EQ(run(executable.get(), {{8}}, meeting.options).value(), 16);
    sender.join();
  }
}

}  // namespace
}  // namespace qanat
