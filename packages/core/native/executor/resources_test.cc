#include "packages/core/native/executor/resources.h"

#include <thread>
#include <vector>

#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

using Values = std::vector<float>;

TEST(an_uninitialised_variable_is_named) {
  TestGraph graph;
  const int w = graph.handle("layer/w");
  const int read = graph.read(w);
  const int update = graph.assign_add({w}, graph.constant({1}));
  auto runtime = test_runtime();
  for (int node : {read, update}) {
    auto executable = compile(runtime, graph, {}, {node});
    const Outcome outcome = run(executable.get());
    CHECK_EQ(outcome.status.code, StatusCode::kFailedPrecondition);
    CHECK_EQ(outcome.status.node, node);
    CHECK_EQ(outcome.status.message,
             "expected variable \"layer/w\" to be initialised, got no value: run its initializer "
             "first");
  }
}

TEST(variables_outlive_steps_and_executables) {
  TestGraph graph;
  const int w = graph.handle("w");
  const int assign = graph.assign(w, graph.constant({1, 2}));
  const int update = graph.assign_add({w}, graph.constant({10, 10}));
  const int read = graph.read(w);
  auto runtime = test_runtime();
  run(compile(runtime, graph, {}, {assign}).get());
  auto updater = compile(runtime, graph, {}, {update});
  for (int i = 0; i < 3; ++i) CHECK(run(updater.get()).status.ok());
  CHECK(run(compile(runtime, graph, {read}).get()).values() == Values({31, 32}));
}

TEST(a_read_is_not_changed_by_a_later_write) {
  for (int threads : {1, 3}) {
    TestGraph graph;
    const int w = graph.handle("w");
    const int assign = graph.assign(w, graph.constant({1, 2}));
    const int before = graph.read(w);
    const int update = graph.assign_add({w}, graph.constant({10, 10}), {before});
    const int after = graph.read(w, {update});
    const int both = graph.add(before, after);
    auto runtime = test_runtime(threads);
    run(compile(runtime, graph, {}, {assign}).get());
    const Outcome outcome = run(compile(runtime, graph, {before, after, both}).get());
    CHECK(outcome.values(0) == Values({1, 2}));
    CHECK(outcome.values(1) == Values({11, 12}));
    CHECK(outcome.values(2) == Values({12, 14}));
    CHECK(run(compile(runtime, graph, {before}).get()).values() == Values({11, 12}));
  }
}

TEST(an_update_is_in_place_where_nobody_reads) {
  Allocator allocator;
  auto* variable = new Variable("w", DType::kFloat32);
  Tensor value;
  CHECK(value.allocate(DType::kFloat32, Shape({2}), &allocator));
  void* const data = value.view.data;
  CHECK(variable->assign(value, &allocator).ok());
  TensorView* locked = nullptr;
  CHECK(variable->lock(&locked, &allocator).ok());
  CHECK(locked->data != data);  // `value` still reads it
  void* const own = locked->data;
  variable->unlock();
  value.reset();
  CHECK(variable->lock(&locked, &allocator).ok());
  CHECK(locked->data == own);
  variable->unlock();
  Tensor read;
  CHECK(variable->read(&read).ok());
  CHECK(read.view.data == own);
  CHECK(variable->lock(&locked, &allocator).ok());
  CHECK(locked->data != own);
  variable->unlock();
  variable->unref();
}

TEST(concurrent_adds_are_never_lost) {
  TestGraph graph;
  const int w = graph.handle("w");
  const int v = graph.handle("v");
  const int init_w = graph.assign(w, graph.constant({0}));
  const int init_v = graph.assign(v, graph.constant({0}));
  // Both orders, and one variable twice: neither may deadlock.
  const int one_way = graph.assign_add({w, v}, graph.constant({1}));
  const int other_way = graph.assign_add({v, w, v}, graph.constant({1}));
  auto runtime = test_runtime(2);
  run(compile(runtime, graph, {}, {init_w, init_v}).get());
  auto first = compile(runtime, graph, {}, {one_way});
  auto second = compile(runtime, graph, {graph.read(w)}, {other_way});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) CHECK(run(t % 2 == 0 ? first.get() : second.get()).status.ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Outcome outcome = run(compile(runtime, graph, {graph.read(w), graph.read(v)}).get());
  CHECK_EQ(outcome.value(0), 2000);
  CHECK_EQ(outcome.value(1), 1000 + 2 * 1000);
}

TEST(a_variable_has_one_type) {
  TestGraph graph;
  const int w = graph.handle("w");
  const int assign = graph.assign(w, graph.constant({1}));
  const int other = graph.handle("w", DType::kFloat64);
  const int mistaken = graph.node({"read", "TestRead", {}, {}, {}, {DType::kFloat64}, {}}, {w});
  auto runtime = test_runtime();
  run(compile(runtime, graph, {}, {assign}).get());
  for (int node : {other, mistaken}) {
    const Outcome outcome = run(compile(runtime, graph, {}, {node}).get());
    CHECK_EQ(outcome.status.code, StatusCode::kInvalidArgument);
    CHECK_EQ(outcome.status.node, node);
  }
}

TEST(containers_are_cleared_by_name) {
  Allocator allocator;
  Resources resources;
  Tensor value;
  CHECK(value.allocate(DType::kFloat32, Shape(), &allocator));
  Variable* in_a = nullptr;
  Variable* in_b = nullptr;
  CHECK(resources.variable("a", "w", DType::kFloat32, &in_a).ok());
  CHECK(resources.variable("b", "w", DType::kFloat32, &in_b).ok());
  CHECK(in_a != in_b);
  CHECK(in_a->assign(value, &allocator).ok());
  CHECK(in_b->assign(value, &allocator).ok());
  resources.clear("a");
  CHECK(in_a->initialized());  // who holds a handle keeps it
  Variable* again = nullptr;
  CHECK(resources.variable("a", "w", DType::kFloat32, &again).ok());
  CHECK(!again->initialized());
  for (Variable* variable : {in_a, in_b, again}) variable->unref();
  CHECK(resources.variable("b", "w", DType::kFloat32, &again).ok());
  CHECK(again->initialized());
  again->unref();
  resources.clear("b");
  resources.clear("never seen");
}

TEST(all_containers_are_cleared) {
  Allocator allocator;
  Resources resources;
  Tensor value;
  CHECK(value.allocate(DType::kFloat32, Shape(), &allocator));
  for (const char* container : {"", "a"}) {
    Variable* made = nullptr;
    CHECK(resources.variable(container, "w", DType::kFloat32, &made).ok());
    CHECK(made->assign(value, &allocator).ok());
    made->unref();
  }
  resources.clear_all();
  for (const char* container : {"", "a"}) {
    Variable* again = nullptr;
    CHECK(resources.variable(container, "w", DType::kFloat32, &again).ok());
    CHECK(!again->initialized());
    again->unref();
  }
}

}  // namespace
}  // namespace qanat
