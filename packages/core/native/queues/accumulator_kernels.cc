#include <string>
#include <string_view>

#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/queues/accumulator.h"
#include "packages/core/native/queues/kernels.h"

namespace qanat {
namespace {

Accumulator* accumulator(StepContext& context) {
  return static_cast<Accumulator*>(context.resource(0, Accumulator::kKind));
}

// Input 1, an integer.
template <typename T>
bool read_number(StepContext& context, const char* what, int64_t least, int64_t* number) {
  const TensorView& given = context.input(1);
  *number = given.num_elements() == 1 ? static_cast<int64_t>(*given.as<T>()) : least - 1;
  if (*number >= least) return true;
  context.invalid("expected %s, %lld or more, got %s", what, static_cast<long long>(least),
                  given.num_elements() == 1 ? std::to_string(*number).c_str() : "another shape");
  return false;
}

class AccumulatorKernel final : public Kernel {
 public:
  explicit AccumulatorKernel(KernelInit& init)
      : container_(init.string_attr("container")),
        name_(init.string_attr("shared_name")),
        dtype_(init.type_attr("dtype")),
        mean_(init.string_attr("reduction_type") == "MEAN") {
    if (name_.empty()) name_ = init.node_name();
  }

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    const auto make = [this] { return new Accumulator(std::string(name_), dtype_, mean_); };
    Resource* made = host.output_resource(0, container_, name_, Accumulator::kKind, make);
    if (made != nullptr && static_cast<Accumulator*>(made)->dtype() != dtype_) {
      host.invalid("expected accumulator \"%s\" to be of %s, got one of %s",
                   std::string(name_).c_str(), dtype_name(dtype_),
                   dtype_name(static_cast<Accumulator*>(made)->dtype()));
    }
  }

 private:
  std::string_view container_, name_;
  const DType dtype_;
  const bool mean_;
};

class ApplyKernel final : public Kernel {
 public:
  explicit ApplyKernel(KernelInit&) {}

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    Accumulator* to = accumulator(host);
    int64_t step = 0;
    if (to == nullptr || !read_number<int64_t>(host, "a step", 0, &step)) return;
    host.fail_with(to->apply(step, context.input(2)));
  }
};

class TakeKernel final : public AsyncKernel {
 public:
  explicit TakeKernel(KernelInit& init) : name_(init.node_name()) {}

  void start(AsyncRun* run) override {
    Accumulator* from = accumulator(run->context());
    int64_t required = 0;
    if (from == nullptr ||
        !read_number<int32_t>(run->context(), "a number of gradients", 1, &required)) {
      return run->give_up();
    }
    run->wait_at(from);
    from->take(required, run);
  }

  std::string awaited() const override { return "gradients, at '" + name_ + "'"; }

 private:
  const std::string name_;
};

class SetStepKernel final : public Kernel {
 public:
  explicit SetStepKernel(KernelInit&) {}

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    Accumulator* of = accumulator(host);
    int64_t step = 0;
    if (of != nullptr && read_number<int64_t>(host, "a step", 0, &step)) of->set_step(step);
  }
};

class CountKernel final : public Kernel {
 public:
  explicit CountKernel(KernelInit&) {}

  void compute(KernelContext& context) override {
    Accumulator* of = accumulator(static_cast<StepContext&>(context));
    TensorView* count = of == nullptr ? nullptr : context.output(0, Shape());
    if (count != nullptr) *count->as<int32_t>() = static_cast<int32_t>(of->count());
  }
};

}  // namespace

void register_accumulator_kernels(KernelRegistry* registry) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    registry->add<AccumulatorKernel>("ResourceConditionalAccumulator", {{"dtype", dtype}});
    registry->add<ApplyKernel>("ResourceAccumulatorApplyGradient", {{"dtype", dtype}});
    registry->add<TakeKernel>("ResourceAccumulatorTakeGradient", {{"dtype", dtype}}, kAsync);
  }
  registry->add<SetStepKernel>("ResourceAccumulatorSetGlobalStep", {});
  registry->add<CountKernel>("ResourceAccumulatorNumAccumulated", {});
}

}  // namespace qanat
