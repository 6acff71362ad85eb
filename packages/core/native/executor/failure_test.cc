// How steps end that do not succeed.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

size_t memory_in_use() { return Allocator::process().stats().in_use; }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Clock::time_point in_ms(int ms) { return Clock::now() + std::chrono::milliseconds(ms); }

TEST(the_failing_node_is_named_and_nothing_leaks) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int ones = graph.ones(100'000);
    const int more = graph.add(ones, graph.ones(100'000));
    const int kept = graph.identity(more);
    const int bad = graph.fail("expected luck, got none", {kept});
    const int after = graph.add(kept, kept, {bad});
    auto executable = compile(test_runtime(threads), graph, {after});
    size_t in_use = 0;
    for (int round = 0; round < 20; ++round) {
      const Outcome outcome = run(executable.get());
      CHECK_EQ(outcome.status.code, StatusCode::kInvalidArgument);
      CHECK_EQ(outcome.status.message, "expected luck, got none");
      CHECK_EQ(outcome.status.node, bad);
      if (round == 0) in_use = memory_in_use();
      CHECK_EQ(memory_in_use(), in_use);
    }
  }
}

TEST(the_first_failure_counts_and_ends_the_step_soon) {
  TestGraph graph;
  const int x = graph.sleep(1);
  const int bad = graph.fail("first", {x});
  std::vector<int> slow;
  for (int i = 0; i < 100; ++i) slow.push_back(graph.sleep(20));
  const int late = graph.fail("late", {graph.sleep(50)});
  slow.push_back(bad);
  slow.push_back(late);
  auto executable = compile(test_runtime(2), graph, {}, slow);
  const auto start = Clock::now();
  const Outcome outcome = run(executable.get());
  CHECK_EQ(outcome.status.message, "first");
  CHECK(seconds_since(start) < 1.0);
}

TEST(a_kernel_that_makes_no_output_is_an_internal_error) {
  TestGraph graph;
  const int forget = graph.forget();
  auto executable = compile(test_runtime(), graph, {forget});
  const Outcome outcome = run(executable.get());
  CHECK_EQ(outcome.status.code, StatusCode::kInternal);
  CHECK_EQ(outcome.status.node, forget);
}

TEST(an_allocation_that_cannot_be_is_an_error) {
  TestGraph graph;
  const int absurd = graph.ones(int64_t{1} << 55);
  auto executable = compile(test_runtime(), graph, {absurd});
  CHECK_EQ(run(executable.get()).status.code, StatusCode::kResourceExhausted);
}

TEST(deadlines_end_steps) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    std::vector<int> targets;
    for (int i = 0; i < 200; ++i) targets.push_back(graph.sleep(5));
    auto executable = compile(test_runtime(threads), graph, {}, targets);
    const auto start = Clock::now();
    StepOptions options;
    options.deadline = in_ms(20);
    CHECK_EQ(run(executable.get(), {}, options).status.code, StatusCode::kDeadlineExceeded);
    CHECK(seconds_since(start) < 0.5);
    options.deadline = Clock::now() - std::chrono::seconds(1);
    CHECK_EQ(run(executable.get(), {}, options).status.code, StatusCode::kDeadlineExceeded);
  }
}

TEST(a_deadline_ends_many_cheap_nodes) {
  TestGraph graph;
  int sum = graph.constant({1});
  for (int i = 0; i < 20'000; ++i) sum = graph.add(sum, sum);
  auto executable = compile(test_runtime(), graph, {sum});
  StepOptions options;
  options.deadline = Clock::now() + std::chrono::microseconds(20);
  CHECK_EQ(run(executable.get(), {}, options).status.code, StatusCode::kDeadlineExceeded);
  options.deadline = in_ms(60'000);
  CHECK(run(executable.get(), {}, options).status.ok());
}

TEST(cancellation_ends_steps_for_good) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    std::vector<int> targets;
    for (int i = 0; i < 400; ++i) targets.push_back(graph.sleep(5));
    auto executable = compile(test_runtime(threads), graph, {}, targets);
    Cancellation cancellation;
    StepOptions options;
    options.cancellation = &cancellation;
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      cancellation.cancel(StatusCode::kCancelled, "closed");
      cancellation.cancel(StatusCode::kAborted, "again");
    });
    Outcome outcome = run(executable.get(), {}, options);
    canceller.join();
    CHECK_EQ(outcome.status.code, StatusCode::kCancelled);
    CHECK_EQ(outcome.status.message, "closed");
    outcome = run(executable.get(), {}, options);
    CHECK_EQ(outcome.status.message, "closed");
  }
}

std::atomic<int> asked{0};

TEST(the_caller_is_asked_whether_to_go_on) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    std::vector<int> targets;
    for (int i = 0; i < 400; ++i) targets.push_back(graph.sleep(5));
    auto executable = compile(test_runtime(threads), graph, {}, targets);
    StepOptions options;
    asked = 0;
    options.interrupted = [] { return asked.fetch_add(1) == 1; };
    const auto start = Clock::now();
    CHECK_EQ(run(executable.get(), {}, options).status.code, StatusCode::kCancelled);
    CHECK_EQ(asked.load(), 2);
    CHECK(seconds_since(start) < 1.0);
  }
}

TEST(a_caller_who_waits_is_asked_too) {
  TestGraph graph;
  const int slow = graph.sleep(300);
  const int other = graph.sleep(0);
  auto executable = compile(test_runtime(3), graph, {}, {slow, other});
  StepOptions options;
  asked = 0;
  options.interrupted = [] { return asked.fetch_add(1) >= 0; };
  run(executable.get(), {}, options);  // who sleeps, caller or worker, is chance
  StepOptions late;
  late.deadline = in_ms(50);
  CHECK_EQ(run(executable.get(), {}, late).status.code, StatusCode::kDeadlineExceeded);
}

TEST(a_step_that_was_fed_and_never_run_leaves_nothing_behind) {
  TestGraph graph;
  const int x = graph.arg();
  auto executable = compile(test_runtime(), graph, {graph.add(x, x)});
  run(executable.get(), {{1}});
  const size_t before = memory_in_use();
  for (int i = 0; i < 100; ++i) {
    Executable::Lease step(executable.get());
    CHECK(step->allocate_arg(0, Shape({100'000})).ok());
  }
  CHECK_EQ(memory_in_use(), before);
  CHECK_EQ(run(executable.get(), {{1}}).value(), 2);
}

}  // namespace
}  // namespace qanat
