// Graphs of test kernels, and steps of them, for the tests of this folder.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_TEST_GRAPH_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_TEST_GRAPH_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/executor/executable.h"

namespace qanat {

// A node is known by its place in the graph; each has at most one output.
class TestGraph {
 public:
  // Of float32 unless another type is named.
  int arg(DType dtype = DType::kFloat32);
  int constant(std::vector<float> values);
  int identity(int input);
  int no_op(std::vector<int> controls);
  int add(int x, int y, std::vector<int> controls = {});
  int sleep(int64_t ms, std::vector<int> inputs = {}, std::vector<int> controls = {});
  int fail(const std::string& message, std::vector<int> controls = {});
  int count(const std::string& name);
  int ones(int64_t size);
  int flatten(int input);
  int join(int x, int y);
  int forget();
  int handle(const std::string& variable, DType dtype = DType::kFloat32);
  int read(int handle, std::vector<int> controls = {});
  int assign(int handle, int value, std::vector<int> controls = {});
  int assign_add(std::vector<int> handles, int delta, std::vector<int> controls = {});
  int send(const std::string& tensor, int value);
  int receive(const std::string& tensor, std::vector<int> controls = {});

  // Control flow, of float32 but for predicates. A port is (node, output).
  int less(int x, int y);
  int switch_on(Port value, int predicate, std::vector<int> controls = {});
  int merge(std::vector<Port> values, std::vector<int> controls = {});
  int enter(Port value, const std::string& frame, bool constant = false, int parallel = 10);
  int exit(Port value);
  int next_iteration(Port value);
  int control_trigger(std::vector<int> controls);
  int on(const std::string& op, std::vector<Port> inputs, std::vector<int> controls = {});
  // Puts `value` in the place of an input: how a loop is closed.
  void close(int merge, int next_iteration) { graph.nodes[merge].inputs[1] = {next_iteration, 0}; }

  int node(NodeDef def, const std::vector<int>& inputs, std::vector<int> controls = {});

  GraphDef graph;

 private:
  int64_t args_ = 0;
};

// A loop in the making: variables and what closes them.
class TestLoop {
 public:
  TestLoop(TestGraph* graph, std::string name, int parallel = 10)
      : graph_(*graph), name_(std::move(name)), parallel_(parallel) {}

  // A variable that begins with this; gives its value in the condition.
  int variable(int initial);
  int constant(int value) { return graph_.enter({value, 0}, name_, true, parallel_); }
  void condition(int predicate);
  Port in_body(size_t i) const { return {switches[i], 1}; }
  void next(size_t i, Port value) { graph_.close(merges[i], graph_.next_iteration(value)); }
  int result(size_t i) { return graph_.exit({switches[i], 0}); }

  std::vector<int> merges, switches;

 private:
  TestGraph& graph_;
  const std::string name_;
  const int parallel_;
};

std::shared_ptr<Runtime> test_runtime(int threads = 1);

// Checks that it compiles.
std::unique_ptr<Executable> compile(std::shared_ptr<Runtime> runtime, const TestGraph& test,
                                    const std::vector<int>& fetches,
                                    const std::vector<int>& targets = {});

struct Outcome {
  Status status;
  std::vector<Tensor> results;

  // The elements of a float result.
  std::vector<float> values(size_t result = 0) const;
  // The only element of it.
  float value(size_t result = 0) const;
};

// One step; each feed is a float vector, or a scalar where it has one element.
Outcome run(Executable* executable, const std::vector<std::vector<float>>& feeds = {},
            const StepOptions& options = {});

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_TEST_GRAPH_H_
