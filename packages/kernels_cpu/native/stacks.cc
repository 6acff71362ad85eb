// Stacks of a step.
#include <mutex>
#include <string>
#include <vector>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/tensor_array.h"

namespace qanat::kernels_cpu {
namespace {

class Stack final : public Resource {
 public:
  static constexpr const char* kKind = "stack";

  // max_size: -1 for any number of elements.
  Stack(DType dtype, int64_t max_size, std::string name)
      : dtype_(dtype), max_size_(max_size), name_(std::move(name)) {}
  const char* kind() const override { return kKind; }

  bool push(KernelContext& context, Kept value) {
    if (value.view().dtype != dtype_) {
      context.invalid("expected elements of %s for stack \"%s\", got %s", dtype_name(dtype_),
                      name_.c_str(), dtype_name(value.view().dtype));
      return false;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    if (max_size_ >= 0 && static_cast<int64_t>(values_.size()) >= max_size_) {
      context.failf(StatusCode::kResourceExhausted,
                    "expected at most %lld elements on stack \"%s\", got one more",
                    static_cast<long long>(max_size_), name_.c_str());
      return false;
    }
    values_.push_back(std::move(value));
    return true;
  }

  Kept pop(KernelContext& context) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (values_.empty()) {
      context.failf(StatusCode::kFailedPrecondition,
                    "expected an element on stack \"%s\", got none", name_.c_str());
      return {};
    }
    Kept value = std::move(values_.back());
    values_.pop_back();
    return value;
  }

  void clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    values_.clear();
  }

 private:
  ~Stack() override = default;

  const DType dtype_;
  const int64_t max_size_;
  const std::string name_;
  std::mutex mutex_;
  std::vector<Kept> values_;  // guarded by mutex_
};

bool expect_stack(KernelInit& init) { return expect_dtype(init, 0, DType::kResource, "a handle"); }

Stack* stack_of(KernelContext& context) {
  return static_cast<Stack*>(context.resource(0, Stack::kKind));
}

class MakeKernel final : public Kernel {
 public:
  explicit MakeKernel(KernelInit& init)
      : dtype_(init.type_attr("elem_type")), name_(init.string_attr("stack_name")) {
    if (expect_arity(init, 1, 1)) expect_dtype(init, 0, DType::kInt32, "a size");
    if (name_.empty()) name_ = init.node_name();
  }

  void compute(KernelContext& context) override {
    int64_t max_size = 0;
    if (!read_scalar(context, 0, "a size", &max_size)) return;
    context.output_resource(0, new Stack(dtype_, max_size, name_));
  }

 private:
  const DType dtype_;
  std::string name_;
};

class PushKernel final : public Kernel {
 public:
  explicit PushKernel(KernelInit& init) {
    if (expect_arity(init, 2, 1) && expect_stack(init)) expect_output_dtype(init, 1, 0);
  }

  void compute(KernelContext& context) override {
    Stack* stack = stack_of(context);
    if (stack == nullptr) return;
    Kept value(context.keep(1));
    if (value && stack->push(context, std::move(value))) {
      context.output_alias(0, 1, context.input(1).shape);
    }
  }
};

class PopKernel final : public Kernel {
 public:
  explicit PopKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_stack(init);
  }

  void compute(KernelContext& context) override {
    Stack* stack = stack_of(context);
    if (stack == nullptr) return;
    const Kept value = stack->pop(context);
    if (value) context.output_kept(0, value.get());
  }
};

class CloseKernel final : public Kernel {
 public:
  explicit CloseKernel(KernelInit& init) {
    if (expect_arity(init, 1, 0)) expect_stack(init);
  }

  void compute(KernelContext& context) override {
    if (Stack* stack = stack_of(context)) stack->clear();
  }
};

}  // namespace

void register_stacks(KernelRegistry& registry) {
  registry.add<MakeKernel>("StackV2", {});
  registry.add<PushKernel>("StackPushV2", {});
  registry.add<PopKernel>("StackPopV2", {});
  registry.add<CloseKernel>("StackCloseV2", {});
}

}  // namespace qanat::kernels_cpu
