#include "packages/core/native/executor/test_graph.h"

#include <algorithm>
#include <utility>

#include "packages/core/native/executor/kernel_registry.h"
#include "packages/core/native/executor/test_kernels.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

NodeDef def(const std::string& op, std::vector<DType> outputs = {DType::kFloat32}) {
  NodeDef made;
  made.op = op;
  made.outputs = std::move(outputs);
  return made;
}

NodeDef transfer(const std::string& op, std::vector<DType> outputs, const std::string& tensor) {
  NodeDef made = def(op, std::move(outputs));
  made.attrs["tensor_name"] = tensor;
  made.attrs["send_device"] = std::string("/job:here");
  made.attrs["recv_device"] = std::string("/job:there");
  return made;
}

}  // namespace

int TestGraph::node(NodeDef made, const std::vector<int>& inputs, std::vector<int> controls) {
  for (int input : inputs) made.inputs.push_back({input, 0});
  made.control_inputs = std::move(controls);
  const int place = static_cast<int>(graph.nodes.size());
  if (made.name.empty()) made.name = made.op + std::to_string(place);
  graph.nodes.push_back(std::move(made));
  return place;
}

int TestGraph::arg(DType dtype) {
  NodeDef made = def("_Arg", {dtype});
  made.attrs["index"] = args_++;
  return node(std::move(made), {});
}

int TestGraph::constant(std::vector<float> values) {
  Tensor value;
  const Shape shape = values.size() == 1 ? Shape() : Shape({static_cast<int64_t>(values.size())});
  CHECK(value.allocate(DType::kFloat32, shape, &Allocator::process()));
  std::copy(values.begin(), values.end(), value.view.as<float>());
  NodeDef made = def("Const");
  made.attrs["value"] = value;
  return node(std::move(made), {});
}

int TestGraph::identity(int input) { return node(def("Identity"), {input}); }
int TestGraph::no_op(std::vector<int> controls) { return node(def("NoOp", {}), {}, controls); }

int TestGraph::add(int x, int y, std::vector<int> controls) {
  NodeDef made = def("TestAdd");
  made.attrs["T"] = DType::kFloat32;
  return node(std::move(made), {x, y}, std::move(controls));
}

int TestGraph::sleep(int64_t ms, std::vector<int> inputs, std::vector<int> controls) {
  NodeDef made = def("TestSleep");
  made.attrs["ms"] = ms;
  return node(std::move(made), inputs, std::move(controls));
}

int TestGraph::fail(const std::string& message, std::vector<int> controls) {
  NodeDef made = def("TestFail");
  made.attrs["message"] = message;
  return node(std::move(made), {}, std::move(controls));
}

int TestGraph::count(const std::string& name) {
  NodeDef made = def("TestCount", {DType::kInt64});
  made.name = name;
  return node(std::move(made), {});
}

int TestGraph::ones(int64_t size) {
  NodeDef made = def("TestOnes");
  made.attrs["size"] = size;
  return node(std::move(made), {});
}

int TestGraph::flatten(int input) { return node(def("TestFlatten"), {input}); }
int TestGraph::join(int x, int y) { return node(def("TestJoin", {DType::kString}), {x, y}); }
int TestGraph::forget() { return node(def("TestForget"), {}); }

int TestGraph::handle(const std::string& variable, DType dtype) {
  NodeDef made = def("TestHandle", {DType::kResource});
  made.attrs["name"] = variable;
  made.attrs["dtype"] = dtype;
  return node(std::move(made), {});
}

int TestGraph::read(int handle, std::vector<int> controls) {
  return node(def("TestRead"), {handle}, std::move(controls));
}

int TestGraph::assign(int handle, int value, std::vector<int> controls) {
  return node(def("TestAssign", {}), {handle, value}, std::move(controls));
}

int TestGraph::assign_add(std::vector<int> handles, int delta, std::vector<int> controls) {
  handles.push_back(delta);
  return node(def("TestAssignAdd", {}), handles, std::move(controls));
}

int TestGraph::on(const std::string& op, std::vector<Port> inputs, std::vector<int> controls) {
  NodeDef made = def(op);
  made.attrs["T"] = DType::kFloat32;
  made.inputs = std::move(inputs);
  return node(std::move(made), {}, std::move(controls));
}

int TestGraph::less(int x, int y) { return node(def("TestLess", {DType::kBool}), {x, y}); }

int TestGraph::switch_on(Port value, int predicate, std::vector<int> controls) {
  const int made = on("Switch", {value, {predicate, 0}}, std::move(controls));
  graph.nodes[made].outputs = {DType::kFloat32, DType::kFloat32};
  return made;
}

int TestGraph::merge(std::vector<Port> values, std::vector<int> controls) {
  const int made = on("Merge", std::move(values), std::move(controls));
  graph.nodes[made].outputs = {DType::kFloat32, DType::kInt32};
  return made;
}

int TestGraph::enter(Port value, const std::string& frame, bool constant, int parallel) {
  const int made = on("Enter", {value});
  NodeDef& enter = graph.nodes[made];
  enter.attrs["frame_name"] = frame;
  enter.attrs["is_constant"] = constant;
  enter.attrs["parallel_iterations"] = int64_t{parallel};
  return made;
}

int TestGraph::exit(Port value) { return on("Exit", {value}); }
int TestGraph::next_iteration(Port value) { return on("NextIteration", {value}); }

int TestGraph::control_trigger(std::vector<int> controls) {
  return node(def("ControlTrigger", {}), {}, std::move(controls));
}

int TestGraph::send(const std::string& tensor, int value) {
  return node(transfer("_Send", {}, tensor), {value});
}

int TestGraph::receive(const std::string& tensor, std::vector<int> controls) {
  return node(transfer("_Recv", {DType::kFloat32}, tensor), {}, std::move(controls));
}

int TestLoop::variable(int initial) {
  const int entered = graph_.enter({initial, 0}, name_, false, parallel_);
  merges.push_back(graph_.merge({{entered, 0}, {entered, 0}}));
  return merges.back();
}

void TestLoop::condition(int predicate) {
  const int condition = graph_.node(def("LoopCond", {DType::kBool}), {predicate});
  for (int merge : merges) switches.push_back(graph_.switch_on({merge, 0}, condition));
}

std::shared_ptr<Runtime> test_runtime(int threads) {
  static const Status loaded = LoadedKernels::process().add_all(register_test_kernels);
  CHECK(loaded.ok());
  return std::make_shared<Runtime>(threads, std::make_shared<Resources>());
}

std::unique_ptr<Executable> compile(std::shared_ptr<Runtime> runtime, const TestGraph& test,
                                    const std::vector<int>& fetches,
                                    const std::vector<int>& targets) {
  GraphDef graph = test.graph;
  for (int fetch : fetches) graph.fetches.push_back({fetch, 0});
  graph.targets = targets;
  std::unique_ptr<Executable> executable;
  const Status status = Executable::compile(std::move(runtime), std::move(graph), &executable);
  CHECK_EQ(status.message, "");
  return executable;
}

std::vector<float> Outcome::values(size_t result) const {
  CHECK_EQ(status.message, "");
  const TensorView& view = results[result].view;
  CHECK_EQ(view.dtype, DType::kFloat32);
  return {view.as<float>(), view.as<float>() + view.num_elements()};
}

float Outcome::value(size_t result) const {
  const std::vector<float> all = values(result);
  CHECK_EQ(all.size(), 1u);
  return all[0];
}

Outcome run(Executable* executable, const std::vector<std::vector<float>>& feeds,
            const StepOptions& options) {
  Executable::Lease step(executable);
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (step->arg(i) == nullptr) continue;
    const auto size = static_cast<int64_t>(feeds[i].size());
    CHECK(step->allocate_arg(i, size == 1 ? Shape() : Shape({size})).ok());
    std::copy(feeds[i].begin(), feeds[i].end(), step->arg(i)->view.as<float>());
  }
  Outcome outcome;
  outcome.status = step->run(options);
  if (!outcome.status.ok()) return outcome;
  for (Tensor& result : step->results()) outcome.results.push_back(std::move(result));
  return outcome;
}

}  // namespace qanat
