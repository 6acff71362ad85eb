// _Send and _Recv: values that meet, waits without a thread, and how they end.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

size_t memory_in_use() { return Allocator::process().stats().in_use; }

Token number(float value) {
  Token token;
  CHECK(token.value.allocate(DType::kFloat32, Shape(), &Allocator::process()));
  *token.value.view.as<float>() = value;
  return token;
}

TransferKey key(const std::string& tensor) { return {"/job:here", "/job:there", tensor, ""}; }

// A step's rendezvous, and options with it.
struct Meeting {
  LocalRendezvous* place = new LocalRendezvous;
  StepOptions options;
  Meeting() { options.rendezvous = place; }
  ~Meeting() { place->unref(); }
};

StepOptions with_deadline(const Meeting& meeting, int ms) {
  StepOptions options = meeting.options;
  options.deadline = Clock::now() + std::chrono::milliseconds(ms);
  return options;
}

TEST(a_sent_value_is_received_in_the_same_step) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int x = graph.arg();
    const int received = graph.receive("x:0");  // stands before the sender
    const int sent = graph.send("x:0", x);
    const int sum = graph.add(received, x);
    auto executable = compile(test_runtime(threads), graph, {sum}, {sent});
    for (int round = 0; round < 100; ++round) {
      Meeting meeting;
      CHECK_EQ(run(executable.get(), {{2}}, meeting.options).value(), 4);
      CHECK(meeting.place->empty());
    }
  }
}

TEST(many_receivers_end_in_any_order_and_from_any_thread) {
  constexpr int kValues = 200;
  TestGraph graph;
  int sum = graph.constant({0});
  for (int i = 0; i < kValues; ++i) sum = graph.add(sum, graph.receive(std::to_string(i)));
  auto executable = compile(test_runtime(2), graph, {sum});
  for (int round = 0; round < 20; ++round) {
    Meeting meeting;
    std::thread sender([&] {
      for (int i = kValues; i-- > 0;) {
        CHECK(meeting.place->send(key(std::to_string(i)), number(1)).ok());
      }
    });
    CHECK_EQ(run(executable.get(), {}, meeting.options).value(), kValues);
    sender.join();
  }
}

TEST(what_waits_ends_at_the_deadline_and_says_for_what) {
  TestGraph graph;
  auto executable = compile(test_runtime(1), graph, {graph.receive("late:0")});
  Meeting meeting;
  const Outcome outcome = run(executable.get(), {}, with_deadline(meeting, 30));
  CHECK_EQ(outcome.status.code, StatusCode::kDeadlineExceeded);
  CHECK(outcome.status.message.find("'late:0' from /job:here") != std::string::npos);
  CHECK(meeting.place->empty());
}

TEST(a_failure_ends_what_waits) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int received = graph.receive("never:0");
    const int failing = graph.fail("too bad");
    auto executable = compile(test_runtime(threads), graph, {received}, {failing});
    const size_t before = memory_in_use();
    for (int round = 0; round < 50; ++round) {
      Meeting meeting;
      CHECK_EQ(run(executable.get(), {}, meeting.options).status.message, "too bad");
      CHECK(meeting.place->empty());
    }
    CHECK_EQ(memory_in_use(), before);
  }
}

TEST(an_abort_ends_what_waits_with_its_cause) {
  TestGraph graph;
  auto executable = compile(test_runtime(2), graph, {graph.receive("never:0")});
  Meeting meeting;
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    meeting.place->abort(error(StatusCode::kUnavailable, "the other side is gone"));
  });
  const Outcome outcome = run(executable.get(), {}, with_deadline(meeting, 60'000));
  aborter.join();
  CHECK_EQ(outcome.status.code, StatusCode::kUnavailable);
  CHECK_EQ(outcome.status.message, "the other side is gone");
}

TEST(cancellation_by_a_parent_ends_what_waits) {
  TestGraph graph;
  auto executable = compile(test_runtime(1), graph, {graph.receive("never:0")});
  Meeting meeting;
  Cancellation parent;
  Cancellation child;
  child.follow(&parent);
  meeting.options.cancellation = &child;
  std::thread canceller([&] { parent.cancel(StatusCode::kCancelled, "enough"); });
  CHECK_EQ(run(executable.get(), {}, meeting.options).status.message, "enough");
  canceller.join();
}

TEST(a_dead_value_is_refused_where_nothing_is_conditional) {
  TestGraph graph;
  auto executable = compile(test_runtime(1), graph, {graph.receive("x:0")});
  Meeting meeting;
  CHECK(meeting.place->send(key("x:0"), {{}, true}).ok());
  CHECK_EQ(run(executable.get(), {}, meeting.options).status.code, StatusCode::kInvalidArgument);
}

TEST(a_step_that_is_alone_meets_itself) {
  TestGraph graph;
  const int sent = graph.send("x:0", graph.constant({5}));
  auto executable = compile(test_runtime(1), graph, {graph.receive("x:0")}, {sent});
  for (int round = 0; round < 3; ++round) CHECK_EQ(run(executable.get()).value(), 5);
}

TEST(expensive_nodes_behind_received_values_are_shared_out) {
  TestGraph graph;
  std::vector<int> sums;
  for (int i = 0; i < 8; ++i) sums.push_back(graph.sleep(2, {graph.receive(std::to_string(i))}));
  auto executable = compile(test_runtime(3), graph, sums);
  for (int round = 0; round < 10; ++round) {
    Meeting meeting;
    std::thread sender([&] {
      for (int i = 0; i < 8; ++i) {
        CHECK(meeting.place->send(key(std::to_string(i)), number(1)).ok());
      }
    });
    const Outcome outcome = run(executable.get(), {}, meeting.options);
    sender.join();
    for (size_t i = 0; i < 8; ++i) CHECK_EQ(outcome.value(i), 2);
  }
}

}  // namespace
}  // namespace qanat
