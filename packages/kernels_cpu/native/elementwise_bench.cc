// What elementwise kernels cost: a scalar (how long a kernel takes to start) and large operands
// (how close to memory's speed).
#include <chrono>
#include <cstdio>
#include <vector>

#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

// A host whose outputs are always the same memory: nothing is measured but the kernel.
class FixedContext final : public KernelContext {
 public:
  FixedContext(const std::vector<Tensor>& inputs, Tensor output) : output_(std::move(output)) {
    for (const Tensor& input : inputs) views_.push_back(&input.view());
    inputs_ = views_.data();
    num_inputs_ = static_cast<int>(views_.size());
  }

  void fail(StatusCode, const char* message) override { std::printf("failed: %s\n", message); }
  bool failed() const override { return false; }
  TensorView* output(int, const Shape&) override { return output_.mutable_view(); }
  TensorView* output_reusing(int, const Shape&, const int*, int) override {
    return output_.mutable_view();
  }
  bool output_alias(int, int, const Shape&) override { return true; }
  void* scratch(size_t) override { return nullptr; }
  Parallel& parallel() override { return serial_; }
  bool output_variable(int, Text, Text, DType) override { return false; }
  bool variable_initialized(int) override { return false; }
  bool read_variable(int, int) override { return false; }
  bool assign_variable(int, int) override { return false; }
  bool lock_variables(const int*, int, TensorView**) override { return false; }
  void unlock_variables(const int*, int) override {}
  bool output_resource(int, Resource*) override { return false; }
  KeptValue* keep(int) override { return nullptr; }
  KeptValue* keep_new(DType, const Shape&) override { return nullptr; }
  bool output_kept(int, KeptValue*) override { return false; }

 private:
  Tensor output_;
  std::vector<const TensorView*> views_;
  SerialParallel serial_;
};

double nanoseconds_a_run(Node& node, FixedContext& context) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int64_t runs = 1, round = 0; round < 12; ++round) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < runs; ++i) node.kernel().compute(context);
    const double total = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    best = std::min(best, total / static_cast<double>(runs));
    if (total < 2e7) runs *= 4;
  }
  return best;
}

void measure(const char* what, const char* op, const std::vector<Shape>& shapes,
             const Shape& result, DType result_dtype = DType::kFloat32) {
  std::vector<Tensor> inputs;
  double bytes = 0;
  for (const Shape& shape : shapes) {
    inputs.emplace_back(DType::kFloat32, shape);
    for (int64_t i = 0; i < inputs.back().size(); ++i) {
      inputs.back().data<float>()[i] = static_cast<float>(i % 100) * 0.01f;
    }
    bytes += static_cast<double>(inputs.back().view().num_bytes());
  }
  const std::vector<DType> dtypes(inputs.size(), DType::kFloat32);
  Node node(*registry().find(op, {DType::kFloat32}), dtypes, {result_dtype}, {});
  const Tensor output(result_dtype, result);
  FixedContext context(inputs, output);
  const double ns = nanoseconds_a_run(node, context);
  bytes += static_cast<double>(output.view().num_bytes());
  std::printf("%-28s %12.1f ns %8.2f GB/s\n", what, ns, bytes / ns);
}

void measure_all() {
  const Shape scalar({}), large({4000000});
  measure("Add scalar", "Add", {scalar, scalar}, scalar);
  measure("Add scalar to [64]", "Add", {Shape({64}), scalar}, Shape({64}));
  measure("Exp scalar", "Exp", {scalar}, scalar);
  measure("Add [1000]", "Add", {Shape({1000}), Shape({1000})}, Shape({1000}));
  measure("Add large", "Add", {large, large}, large);
  measure("Mul large by scalar", "Mul", {large, scalar}, large);
  measure("Less large", "Less", {large, large}, large, DType::kBool);
  measure("Add row [400000,10]", "Add", {Shape({400000, 10}), Shape({10})}, Shape({400000, 10}));
  measure("Add column [400000,10]", "Add", {Shape({400000, 10}), Shape({400000, 1})},
          Shape({400000, 10}));
  measure("Add row [8000,500]", "Add", {Shape({8000, 500}), Shape({500})}, Shape({8000, 500}));
  measure("Add middle [500,1,80]", "Add", {Shape({500, 100, 80}), Shape({500, 1, 80})},
          Shape({500, 100, 80}));
  for (const char* op : {"Exp", "Log", "Tanh", "Sigmoid", "Erf", "Sin", "Relu", "Sqrt"}) {
    measure(op, op, {large}, large);
  }
}

}  // namespace
}  // namespace qanat::testing

int main() { qanat::testing::measure_all(); }
