// What the executor itself costs: chains and fans of kernels that do next to nothing.
//
//   bazel run -c opt //packages/core/native/executor:executor_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "packages/core/native/executor/executable.h"
#include "packages/core/native/executor/kernel_registry.h"
#include "packages/core/native/executor/test_kernels.h"

namespace qanat {
namespace {

NodeDef arg(int64_t index) {
  return {"arg" + std::to_string(index), "_Arg", {}, {}, {{"index", index}}, {DType::kFloat32}, {}};
}

NodeDef add(int x, int y) {
  return {"add", "TestAdd", {{x, 0}, {y, 0}}, {}, {{"T", DType::kFloat32}}, {DType::kFloat32}, {}};
}

// Nanoseconds a step takes: the best of many short rounds, since others may use this machine, too.
double time_steps(GraphDef graph, int steps) {
  auto runtime = std::make_shared<Runtime>(1, std::make_shared<Resources>());
  std::unique_ptr<Executable> executable;
  const Status status = Executable::compile(runtime, std::move(graph), &executable);
  if (!status.ok()) {
    std::printf("%s\n", status.message.c_str());
    return 0;
  }
  double best = 1e18;
  for (int round = 0; round < 500; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) {
      Executable::Lease step(executable.get());
      if (!step->allocate_arg(0, Shape()).ok()) return 0;
      *step->arg(0)->view.as<float>() = 1;
      if (!step->run({}).ok()) return 0;
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / steps);
  }
  return best;
}

void bench_chain(int length) {
  GraphDef graph;
  graph.nodes.push_back(arg(0));
  for (int i = 0; i < length; ++i) graph.nodes.push_back(add(i, 0));
  graph.fetches = {{length, 0}};
  const double took = time_steps(std::move(graph), std::max(1, 2000 / length));
  std::printf("chain of %4d scalar adds: %8.0f ns a step, %5.1f ns a node\n", length, took,
              took / length);
}

// Every node reads the fed value, and all results are alive until they are summed.
void bench_fan(int width) {
  GraphDef graph;
  graph.nodes.push_back(arg(0));
  for (int i = 0; i < width; ++i) graph.nodes.push_back(add(0, 0));
  int sum = 1;
  for (int i = 2; i <= width; ++i) {
    graph.nodes.push_back(add(sum, i));
    sum = static_cast<int>(graph.nodes.size()) - 1;
  }
  graph.fetches = {{sum, 0}};
  const int nodes = static_cast<int>(graph.nodes.size()) - 1;
  const double took = time_steps(std::move(graph), std::max(1, 2000 / width));
  std::printf("fan of %4d scalar adds:   %8.0f ns a step, %5.1f ns a node\n", width, took,
              took / nodes);
}

}  // namespace
}  // namespace qanat

int main() {
  using namespace qanat;  // NOLINT: a program's own names
  const Status status = LoadedKernels::process().add_all(register_test_kernels);
  if (!status.ok()) return 1;
  for (int length : {1, 10, 100, 1000}) bench_chain(length);
  for (int width : {10, 1000}) bench_fan(width);
  return 0;
}
