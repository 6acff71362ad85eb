// Branches and loops: what comes out of them, dead or alive, and how they end.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/executor/test_kernels.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

using Values = std::vector<float>;

size_t memory_in_use() { return Allocator::process().stats().in_use; }

// Runs a graph whose nodes may and may not meet, and compares.
void check_all(const TestGraph& graph, const std::vector<int>& fetches,
               const std::vector<Values>& feeds, const std::vector<float>& expected) {
  for (int threads : {1, 3}) {
    auto executable = compile(test_runtime(threads), graph, fetches);
    CHECK(executable->plan().has_control_flow);
    size_t in_use = 0;
    for (int round = 0; round < 20; ++round) {
      {
        const Outcome outcome = run(executable.get(), feeds);
        for (size_t i = 0; i < expected.size(); ++i) CHECK_EQ(outcome.value(i), expected[i]);
      }
      if (round == 5) in_use = memory_in_use();
      if (round > 5) CHECK_EQ(memory_in_use(), in_use);
    }
  }
}

// x < y ? x + x : y + 1
int branches(TestGraph* graph, int x, int y) {
  const int predicate = graph->less(x, y);
  const int of_x = graph->switch_on({x, 0}, predicate);
  const int of_y = graph->switch_on({y, 0}, predicate);
  const int then = graph->on("TestAdd", {{of_x, 1}, {of_x, 1}});
  const int otherwise = graph->on("TestAdd", {{of_y, 0}, {graph->constant({1}), 0}});
  return graph->merge({{otherwise, 0}, {then, 0}});
}

TEST(a_branch_is_taken_and_the_other_is_not) {
  TestGraph graph;
  const int x = graph.arg();
  const int y = graph.arg();
  const int merged = branches(&graph, x, y);
  const int after = graph.add(merged, merged);
  check_all(graph, {after, merged}, {{3}, {4}}, {12, 6});
  check_all(graph, {after, merged}, {{4}, {3}}, {8, 4});
}

TEST(dead_values_go_through_kernels_and_control_edges) {
  TestGraph graph;
  const int x = graph.arg();
  const int zero = graph.constant({0});
  const int predicate = graph.less(zero, x);
  const int chosen = graph.switch_on({x, 0}, predicate);
  const int pivot = graph.on("Identity", {{chosen, 1}});
  const int bad = graph.fail("a dead node ran", {pivot});
  const int sum = graph.add(bad, x, {});
  const int through = graph.no_op({sum});
  const int late = graph.add(x, x, {through});
  const int other = graph.on("Identity", {{chosen, 0}});
  const int merged = graph.merge({{late, 0}, {other, 0}});
  check_all(graph, {merged}, {{-7}}, {-7});
  auto executable = compile(test_runtime(), graph, {merged});
  CHECK_EQ(run(executable.get(), {{7}}).status.message, "a dead node ran");
}

TEST(what_a_step_does_not_reach_is_an_error) {
  TestGraph graph;
  const int x = graph.arg();
  const int chosen = graph.switch_on({x, 0}, graph.less(graph.constant({0}), x));
  const int inside = graph.on("Identity", {{chosen, 1}});
  const int effect = graph.no_op({inside});
  for (int threads : {1, 3}) {
    auto fetched = compile(test_runtime(threads), graph, {inside});
    CHECK_EQ(run(fetched.get(), {{1}}).value(), 1);
    Outcome outcome = run(fetched.get(), {{-1}});
    CHECK_EQ(outcome.status.code, StatusCode::kInvalidArgument);
    CHECK_EQ(outcome.status.node, inside);
    auto targeted = compile(test_runtime(threads), graph, {}, {effect});
    CHECK(run(targeted.get(), {{1}}).status.ok());
    outcome = run(targeted.get(), {{-1}});
    CHECK_EQ(outcome.status.code, StatusCode::kInvalidArgument);
    CHECK_EQ(outcome.status.node, effect);
  }
}

// while (i < n) { i += 1; total += i }
struct Counting {
  Counting(TestGraph* graph, int n, int parallel, int total_from) : loop(graph, "count", parallel) {
    const int i = loop.variable(graph->constant({0}));
    loop.variable(total_from);
    loop.condition(graph->less(i, loop.constant(n)));
    const int one = graph->constant({1});
    next_i = graph->on("TestAdd", {loop.in_body(0), {one, 0}});
    next_total = graph->on("TestAdd", {loop.in_body(1), {next_i, 0}});
    loop.next(0, {next_i, 0});
    loop.next(1, {next_total, 0});
    count = loop.result(0);
    total = loop.result(1);
  }
  TestLoop loop;
  int next_i, next_total, count, total;
};

TEST(a_loop_counts) {
  for (int parallel : {1, 2, 10}) {
    TestGraph graph;
    const int n = graph.arg();
    const Counting counting(&graph, n, parallel, graph.constant({0}));
    const int after = graph.add(counting.total, n);
    check_all(graph, {counting.count, counting.total, after}, {{100}}, {100, 5050, 5150});
    check_all(graph, {counting.count, counting.total, after}, {{0}}, {0, 0, 0});
    check_all(graph, {after}, {{1}}, {2});
  }
}

TEST(a_loop_in_a_branch_that_is_not_taken_is_dead) {
  TestGraph graph;
  const int n = graph.arg();
  const int predicate = graph.less(graph.constant({0}), n);
  const int chosen = graph.switch_on({n, 0}, predicate);
  const int limit = graph.on("Identity", {{chosen, 1}});
  const Counting counting(&graph, limit, 10, limit);
  const int otherwise = graph.on("TestAdd", {{chosen, 0}, {chosen, 0}});
  const int merged = graph.merge({{otherwise, 0}, {counting.total, 0}});
  check_all(graph, {merged}, {{3}}, {9});
  check_all(graph, {merged}, {{-3}}, {-6});
}

TEST(a_branch_in_a_loop) {
  TestGraph graph;
  const int n = graph.arg();
  TestLoop loop(&graph, "loop");
  const int i = loop.variable(graph.constant({0}));
  loop.variable(graph.constant({0}));
  loop.condition(graph.less(i, loop.constant(n)));
  const int in_body = graph.on("Identity", {loop.in_body(0)});
  const int predicate = graph.less(in_body, loop.constant(graph.constant({3})));
  const int chosen = graph.switch_on(loop.in_body(1), predicate);
  const int one = loop.constant(graph.constant({1}));
  const int hundred = loop.constant(graph.constant({100}));
  const int small = graph.on("TestAdd", {{chosen, 1}, {one, 0}});
  const int large = graph.on("TestAdd", {{chosen, 0}, {hundred, 0}});
  const int merged = graph.merge({{small, 0}, {large, 0}});
  loop.next(0, {graph.add(in_body, one), 0});
  loop.next(1, {merged, 0});
  check_all(graph, {loop.result(1)}, {{5}}, {203});
}

// for (i = 0; i < n; ++i) for (j = 0; j < i; ++j) total += 1, with an inner loop anew each time.
TEST(nested_loops) {
  for (int parallel : {1, 4}) {
    TestGraph graph;
    const int n = graph.arg();
    const int zero = graph.constant({0});
    const int one = graph.constant({1});
    TestLoop outer(&graph, "outer", parallel);
    const int i = outer.variable(zero);
    outer.variable(zero);
    outer.condition(graph.less(i, outer.constant(n)));
    const int limit = graph.on("Identity", {outer.in_body(0)});
    const int start = graph.on("TestAdd", {{zero, 0}, {zero, 0}}, {limit});
    TestLoop inner(&graph, "inner", parallel);
    const int j = inner.variable(start);
    inner.variable(graph.on("Identity", {outer.in_body(1)}));
    inner.condition(graph.less(j, inner.constant(limit)));
    inner.next(0, {graph.on("TestAdd", {inner.in_body(0), {one, 0}}), 0});
    inner.next(1, {graph.on("TestAdd", {inner.in_body(1), {one, 0}}), 0});
    const int total = inner.result(1);
    outer.next(0, {graph.add(limit, one), 0});
    outer.next(1, {total, 0});
    check_all(graph, {outer.result(1), outer.result(0)}, {{7}}, {21, 7});
  }
}

TEST(iterations_overlap_as_far_as_they_may) {
  for (int parallel : {1, 4}) {
    TestGraph graph;
    const int n = graph.constant({8});
    TestLoop loop(&graph, "loop", parallel);
    const int i = loop.variable(graph.constant({0}));
    loop.variable(graph.constant({0}));
    loop.condition(graph.less(i, loop.constant(n)));
    const int next = graph.on("TestAdd", {loop.in_body(0), {graph.constant({1}), 0}});
    const int slow = graph.sleep(20, {next});
    loop.next(0, {next, 0});
    loop.next(1, {graph.on("TestAdd", {loop.in_body(1), {slow, 0}}), 0});
    const int total = loop.result(1);
    auto executable = compile(test_runtime(4), graph, {total});
    most_asleep_at_once();
    CHECK_EQ(run(executable.get()).value(), 44);
    const int most = most_asleep_at_once();
    CHECK(parallel == 1 ? most == 1 : most >= 2 && most <= 4);
  }
}

TEST(a_control_trigger_fires_whatever_is_dead) {
  TestGraph graph;
  const int x = graph.arg();
  const int chosen = graph.switch_on({x, 0}, graph.less(graph.constant({0}), x));
  const int taken = graph.on("Identity", {{chosen, 1}});
  const int other = graph.on("Identity", {{chosen, 0}});
  const int late = graph.add(x, x, {graph.control_trigger({taken, other})});
  check_all(graph, {late}, {{4}}, {8});
  check_all(graph, {late}, {{-4}}, {-8});
}

TEST(a_merge_says_which_value_came) {
  TestGraph graph;
  const int x = graph.arg();
  const int merged = branches(&graph, x, graph.constant({5}));
  for (const auto& [fed, index] : std::vector<std::pair<float, int>>{{4, 1}, {6, 0}}) {
    GraphDef def = graph.graph;
    def.fetches = {{merged, 1}};
    std::unique_ptr<Executable> executable;
    CHECK(Executable::compile(test_runtime(), def, &executable).ok());
    const Outcome outcome = run(executable.get(), {{fed}});
    CHECK_EQ(*outcome.results[0].view.as<int32_t>(), index);
  }
}

// A loop without end, to be ended from outside.
int endless(TestGraph* graph, bool expensive) {
  TestLoop loop(graph, "endless");
  const int i = loop.variable(graph->constant({0}));
  loop.condition(graph->less(loop.constant(graph->constant({-1})), i));
  const int same = expensive ? graph->sleep(0, {graph->on("Identity", {loop.in_body(0)})})
                             : graph->on("Identity", {loop.in_body(0)});
  loop.next(0, {same, 0});
  return loop.result(0);
}

TEST(endless_loops_end_by_deadline_and_cancellation) {
  for (int threads : {1, 3}) {
    for (bool expensive : {false, true}) {
      TestGraph graph;
      const int result = endless(&graph, expensive);
      auto executable = compile(test_runtime(threads), graph, {result});
      StepOptions options;
      options.deadline = Clock::now() + std::chrono::milliseconds(20);
      CHECK_EQ(run(executable.get(), {}, options).status.code, StatusCode::kDeadlineExceeded);
      Cancellation cancellation;
      options = {};
      options.cancellation = &cancellation;
      std::thread canceller([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        cancellation.cancel(StatusCode::kCancelled, "closed");
      });
      const Outcome outcome = run(executable.get(), {}, options);
      canceller.join();
      CHECK_EQ(outcome.status.message, "closed");
    }
  }
}

TEST(a_failure_names_the_iteration_and_leaves_nothing_behind) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int n = graph.arg();
    TestLoop loop(&graph, "loop");
    const int i = loop.variable(graph.constant({0}));
    loop.condition(graph.less(i, loop.constant(n)));
    const int checked = graph.on("TestFailAt", {loop.in_body(0)});
    graph.graph.nodes[checked].attrs["at"] = 3.0;
    loop.next(0, {graph.on("TestAdd", {{checked, 0}, {graph.constant({1}), 0}}), 0});
    auto executable = compile(test_runtime(threads), graph, {loop.result(0)});
    CHECK_EQ(run(executable.get(), {{3}}).value(), 3);
    size_t in_use = 0;
    for (int round = 0; round < 10; ++round) {
      const Outcome outcome = run(executable.get(), {{5}});
      CHECK_EQ(outcome.status.message, "expected another number (in iteration loop:3)");
      CHECK_EQ(outcome.status.node, checked);
      if (round == 0) in_use = memory_in_use();
      CHECK_EQ(memory_in_use(), in_use);
    }
  }
}

TEST(values_that_nobody_takes_do_not_pile_up) {
  TestGraph graph;
  const int n = graph.constant({200});
  TestLoop loop(&graph, "loop");
  const int i = loop.variable(graph.constant({0}));
  loop.condition(graph.less(i, loop.constant(n)));
  const int large = graph.on("Identity", {loop.in_body(0)});
  const int ones = graph.ones(100'000);
  graph.graph.nodes[ones].control_inputs = {large};
  const int size = graph.no_op({ones});
  loop.next(0, {graph.on("TestAdd", {loop.in_body(0), {graph.constant({1}), 0}}, {size}), 0});
  const int count = loop.result(0);
  auto executable = compile(test_runtime(), graph, {count});
  CHECK_EQ(run(executable.get()).value(), 200);
  const size_t before = Allocator::process().stats().peak;
  CHECK_EQ(run(executable.get()).value(), 200);
  CHECK_EQ(Allocator::process().stats().peak, before);
}

Status status_of(const TestGraph& test, int fetch) {
  GraphDef graph = test.graph;
  graph.fetches = {{fetch, 0}};
  std::unique_ptr<Executable> executable;
  return Executable::compile(test_runtime(), std::move(graph), &executable);
}

void check_refused(const Status& status, int node, const std::string& part) {
  CHECK_EQ(status.code, StatusCode::kInvalidArgument);
  CHECK_EQ(status.node, node);
  CHECK(status.message.find(part) != std::string::npos);
}

TEST(frames_that_do_not_fit_are_refused) {
  TestGraph mixed;
  const int x = mixed.arg();
  const int value = mixed.add(x, x);
  const int inside = mixed.enter({value, 0}, "loop");
  const int both = mixed.add(inside, value);
  check_refused(status_of(mixed, both), both, "one frame");
  check_refused(status_of(mixed, inside), inside, "outside of loops, got one of loop \"loop\"");
  TestGraph fed;
  const int in_loop = fed.enter({fed.constant({1}), 0}, "loop");
  const int leaves = fed.exit({fed.add(in_loop, fed.arg()), 0});
  check_refused(status_of(fed, leaves), 3, "fed values outside of loops");
  TestGraph outside;
  const int bad = outside.exit({outside.arg(), 0});
  check_refused(status_of(outside, bad), bad, "a node of a loop");
  TestGraph merged;
  const int made = merged.merge({{merged.constant({1}), 0}});
  check_refused(status_of(merged, made), made, "a constant");
  TestGraph typed;
  const int scalar = typed.arg();
  const int wrong = typed.switch_on({scalar, 0}, scalar);
  check_refused(status_of(typed, wrong), wrong, "a bool");
}

TEST(a_predicate_of_several_bools_is_an_error) {
  TestGraph graph;
  const int p = graph.arg(DType::kBool);
  const int x = graph.constant({1});
  const int chosen = graph.switch_on({x, 0}, p);
  const int taken = graph.on("Identity", {{chosen, 1}});
  auto executable = compile(test_runtime(), graph, {taken});
  Executable::Lease step(executable.get());
  CHECK(step->allocate_arg(0, Shape({2})).ok());
  const Status status = step->run({});
  CHECK_EQ(status.code, StatusCode::kInvalidArgument);
  CHECK_EQ(status.node, chosen);
}

TEST(steps_of_one_loop_run_at_the_same_time) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int n = graph.arg();
    const Counting counting(&graph, n, 10, graph.constant({0}));
    const int total = graph.sleep(0, {counting.total});
    auto executable = compile(test_runtime(threads), graph, {total});
    std::vector<std::thread> callers;
    for (int t = 1; t <= 4; ++t) {
      callers.emplace_back([&, t] {
        const auto fed = static_cast<float>(10 * t);
        for (int round = 0; round < 50; ++round) {
          CHECK_EQ(run(executable.get(), {{fed}}).value(), fed * (fed + 1) / 2 + 1);
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

}  // namespace
}  // namespace qanat
