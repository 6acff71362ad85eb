// What a step computes, in order and by several threads: both kinds of runtime run each case.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/executor/test_kernels.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

using Values = std::vector<float>;

size_t memory_in_use() { return Allocator::process().stats().in_use; }

// A pair of expensive nodes that nothing orders makes a plan whose nodes may run at the same time.
void make_concurrent(TestGraph* graph, std::vector<int>* targets) {
  targets->push_back(graph->sleep(0));
  targets->push_back(graph->sleep(0));
}

// Runs the fetches of a graph in order and with counted uses.
void check_both(TestGraph graph, const std::vector<int>& fetches, const std::vector<Values>& feeds,
                const std::vector<Values>& expected) {
  auto in_order = compile(test_runtime(1), graph, fetches);
  std::vector<int> targets;
  make_concurrent(&graph, &targets);
  auto concurrent = compile(test_runtime(3), graph, fetches, targets);
  CHECK(concurrent->plan().concurrent);
  for (Executable* executable : {in_order.get(), concurrent.get()}) {
    for (int round = 0; round < 20; ++round) {
      const Outcome outcome = run(executable, feeds);
      for (size_t i = 0; i < expected.size(); ++i) CHECK(outcome.values(i) == expected[i]);
    }
  }
}

TEST(a_chain_adds_up) {
  TestGraph graph;
  const int x = graph.arg();
  int sum = x;
  for (int i = 0; i < 100; ++i) sum = graph.add(sum, x);
  check_both(graph, {sum}, {{1}}, {{101}});
  check_both(graph, {sum}, {{1, 2, 3}}, {{101, 202, 303}});
}

TEST(a_fetched_value_is_not_worked_on_in_place) {
  TestGraph graph;
  const int x = graph.arg();
  const int two = graph.add(x, x);
  const int four = graph.add(two, two);
  const int six = graph.add(four, two);
  check_both(graph, {two, four, six, x}, {{1, 2}}, {{2, 4}, {4, 8}, {6, 12}, {1, 2}});
}

TEST(a_value_with_two_users_is_not_worked_on_in_place_before_the_last) {
  TestGraph graph;
  const int x = graph.arg();
  const int y = graph.add(x, x);
  Values expected;
  std::vector<int> sums;
  for (int i = 0; i < 10; ++i) sums.push_back(graph.add(y, graph.constant({1, 1})));
  int total = sums[0];
  for (int i = 1; i < 10; ++i) total = graph.add(total, sums[i]);
  check_both(graph, {total}, {{1, 2}}, {{30, 50}});
}

TEST(aliases_protect_what_they_share) {
  TestGraph graph;
  const int x = graph.arg();
  const int y = graph.add(x, x);
  const int alias = graph.flatten(y);
  const int same = graph.identity(y);
  const int sum = graph.add(alias, graph.constant({1, 1}));
  const int other = graph.add(same, graph.constant({2, 2}));
  check_both(graph, {sum, other, y}, {{1, 2}}, {{3, 5}, {4, 6}, {2, 4}});
}

TEST(constants_are_never_written_to) {
  TestGraph graph;
  const int one = graph.constant({1, 1});
  const int sum = graph.add(one, one);
  const int more = graph.add(graph.add(sum, one), one);
  check_both(graph, {more, one, one}, {}, {{4, 4}, {1, 1}, {1, 1}});
}

TEST(results_belong_to_the_caller) {
  TestGraph graph;
  const int one = graph.constant({1, 1});
  const int x = graph.arg();
  const int same = graph.identity(x);
  auto executable = compile(test_runtime(), graph, {one, one, x, same, x});
  Outcome outcome = run(executable.get(), {{5, 6}});
  for (Tensor& result : outcome.results) {
    CHECK(result.buffer->exclusive());
    *result.view.as<float>() = 99;
  }
  CHECK(run(executable.get(), {{5, 6}}).values(0) == Values({1, 1}));
  CHECK(run(executable.get(), {{5, 6}}).values(4) == Values({5, 6}));
}

TEST(a_lent_feed_is_not_written_to_and_not_given_away) {
  alignas(kAlignment) float fed[2] = {1, 2};
  TestGraph graph;
  const int x = graph.arg();
  const int sum = graph.add(x, graph.constant({1, 1}));
  const int w = graph.handle("w");
  const int assign = graph.assign(w, x);
  auto runtime = test_runtime();
  auto executable = compile(runtime, graph, {sum, x}, {assign});
  {
    Executable::Lease step(executable.get());
    step->lend_arg(0, fed, Shape({2}));
    CHECK(step->run({}).ok());
    CHECK_EQ(step->results()[0].view.as<float>()[1], 3);
    CHECK(step->results()[1].view.data != fed);
    CHECK_EQ(fed[0], 1);
  }
  fed[0] = 77;
  auto reader = compile(runtime, graph, {graph.read(w)});
  CHECK(run(reader.get()).values() == Values({1, 2}));
}

TEST(strings_live_as_long_as_they_are_needed) {
  TestGraph graph;
  const int x = graph.arg(DType::kString);
  const int twice = graph.join(x, x);
  const int thrice = graph.join(twice, x);
  auto executable = compile(test_runtime(), graph, {thrice});
  Executable::Lease step(executable.get());
  CHECK(step->allocate_arg(0, Shape()).ok());
  const std::string text(100, 'q');
  step->arg(0)->view.as<Bytes>()->assign(text);
  CHECK(step->run({}).ok());
  CHECK(step->results()[0].view.as<Bytes>()->view() == text + text + text);
}

TEST(what_nobody_needs_does_not_run) {
  TestGraph graph;
  const int x = graph.arg();
  graph.fail("not to be run");
  const int unused = graph.arg();
  const int sum = graph.add(x, x);
  graph.add(unused, sum);
  auto executable = compile(test_runtime(), graph, {sum});
  CHECK_EQ(run(executable.get(), {{2}, {3}}).value(), 4);
  CHECK_EQ(executable->plan().nodes.size(), 1u);
}

TEST(control_inputs_order_effects) {
  for (int threads : {1, 4}) {
    TestGraph graph;
    std::vector<int> targets;
    make_concurrent(&graph, &targets);
    const int w = graph.handle("w");
    const int init = graph.assign(w, graph.constant({1}));
    const int slow = graph.sleep(5, {}, {init});
    // Behind a constant, an order holds, too.
    const int late = graph.node(graph.graph.nodes[graph.constant({10})], {}, {slow});
    const int update = graph.assign_add({w}, late);
    const int joined = graph.no_op({update});
    const int read = graph.read(w, {joined});
    auto executable = compile(test_runtime(threads), graph, {read}, targets);
    for (int round = 0; round < 5; ++round) CHECK_EQ(run(executable.get()).value(), 11);
  }
}

TEST(expensive_nodes_meet_on_several_threads) {
  TestGraph graph;
  std::vector<int> sleeps;
  for (int i = 0; i < 4; ++i) sleeps.push_back(graph.sleep(30));
  const int sum = graph.sleep(0, sleeps);
  auto executable = compile(test_runtime(4), graph, {sum});
  most_asleep_at_once();
  CHECK_EQ(run(executable.get()).value(), 5);
  CHECK(most_asleep_at_once() >= 2);
}

TEST(a_single_path_of_expensive_nodes_needs_no_counting) {
  TestGraph graph;
  const int first = graph.sleep(0);
  const int second = graph.sleep(0, {graph.add(first, first)});
  graph.add(second, first);
  auto executable = compile(test_runtime(4), graph, {second});
  CHECK(!executable->plan().concurrent);
}

TEST(loops_inside_kernels_share_the_pool) {
  TestGraph graph;
  int total = graph.ones(100'000);
  for (int i = 0; i < 5; ++i) total = graph.add(total, graph.ones(100'000));
  auto executable = compile(test_runtime(3), graph, {total});
  CHECK(executable->plan().concurrent);
  for (int round = 0; round < 20; ++round) {
    const Values values = run(executable.get()).values();
    CHECK(std::all_of(values.begin(), values.end(), [](float value) { return value == 6; }));
  }
}

TEST(steps_run_at_the_same_time) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    std::vector<int> targets;
    make_concurrent(&graph, &targets);
    const int x = graph.arg();
    int sum = x;
    for (int i = 0; i < 50; ++i) sum = graph.add(graph.identity(sum), x);
    auto executable = compile(test_runtime(threads), graph, {sum}, targets);
    std::vector<std::thread> callers;
    for (int t = 1; t <= 4; ++t) {
      callers.emplace_back([&, t] {
        const auto fed = static_cast<float>(t);
        for (int round = 0; round < 200; ++round) {
          CHECK_EQ(run(executable.get(), {{fed}}).value(), 51 * fed);
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(a_repeated_step_asks_for_no_memory) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    std::vector<int> targets;
    make_concurrent(&graph, &targets);
    int total = graph.ones(300'000);
    for (int i = 0; i < 5; ++i) total = graph.add(graph.ones(300'000), total);
    auto executable = compile(test_runtime(threads), graph, {total}, targets);
    for (int round = 0; round < 10; ++round) run(executable.get());
    const MemoryStats before = Allocator::process().stats();
    for (int round = 0; round < 50; ++round) run(executable.get());
    CHECK_EQ(memory_in_use(), before.in_use);
    // How many values are alive at once depends on the order, which threads vary.
    const int64_t fresh = Allocator::process().stats().fresh_pages;
    CHECK(fresh <= before.fresh_pages + (threads == 1 ? 0 : 3));
  }
}

TEST(temporaries_die_early) {
  TestGraph graph;
  const int64_t size = 1'000'000;
  int total = graph.ones(size);
  for (int i = 0; i < 20; ++i) total = graph.add(total, graph.ones(size));
  auto executable = compile(test_runtime(), graph, {total});
  const size_t before = Allocator::process().stats().peak;
  run(executable.get());
  // Two at a time, not twenty.
  CHECK(Allocator::process().stats().peak <= before + 3 * sizeof(float) * size);
}

TEST(stateful_kernels_are_one_to_a_node) {
  TestGraph graph;
  const int count = graph.count("counter");
  const int other = graph.count("other");
  auto runtime = test_runtime();
  auto first = compile(runtime, graph, {count});
  auto second = compile(runtime, graph, {count, other});
  CHECK_EQ(*run(first.get()).results[0].view.as<int64_t>(), 1);
  CHECK_EQ(*run(second.get()).results[0].view.as<int64_t>(), 2);
  CHECK_EQ(*run(first.get()).results[0].view.as<int64_t>(), 3);
  CHECK_EQ(*run(second.get()).results[1].view.as<int64_t>(), 2);
  auto elsewhere = compile(test_runtime(), graph, {count});
  CHECK_EQ(*run(elsewhere.get()).results[0].view.as<int64_t>(), 1);
}

}  // namespace
}  // namespace qanat
