// Several pointwise ops, and the updates of variables by their results, in one pass over memory.
#include <vector>

#include "packages/kernels_cpu/native/elementwise_program.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"

namespace qanat::kernels_cpu {
namespace {

constexpr int kMaxHandles = 16;
constexpr int kMaxValues = 64;

class FusedElementwiseKernel final : public Kernel {
 public:
  explicit FusedElementwiseKernel(KernelInit& init)
      : num_handles_(handles_of(init)),
        num_values_(init.num_inputs() - num_handles_),
        num_outputs_(init.num_outputs()),
        dtype_(init.type_attr("T")),
        shape_(init.shape_attr("shape")) {
    if (num_handles_ < 0 || num_handles_ > kMaxHandles || num_values_ < 0 ||
        num_values_ > kMaxValues || num_outputs_ > 1) {
      init.invalid("expected at most %d variables, %d values and one output, got %d, %d and %d",
                   kMaxHandles, kMaxValues, num_handles_, num_values_, num_outputs_);
      return;
    }
    for (int i = 0; i < init.num_inputs(); ++i) {
      if (init.input_dtype(i) != (i < num_handles_ ? DType::kResource : dtype_)) {
        init.invalid("expected other dtypes than %s of input %d", dtype_name(init.input_dtype(i)),
                     i);
      }
    }
    if (num_outputs_ == 1 && init.output_dtype(0) != dtype_) {
      init.invalid("expected an output of %s, got one of %s", dtype_name(dtype_),
                   dtype_name(init.output_dtype(0)));
    }
    if (init.failed()) return;
    if (!program_.parse(init.string_attr("program"), dtype_, num_values_, num_handles_,
                        num_outputs_)) {
      init.invalid("%s", program_.message());
    }
    for (int i = 0; i < num_values_; ++i) {
      if (program_.use_of_value(i) == ElementwiseProgram::Space::kValue)
        lenders_[num_lenders_++] = num_handles_ + i;
    }
    for (int i = 0; i < num_handles_; ++i) handles_[i] = i;
  }

  void compute(KernelContext& context) override {
    if (!check_values(context)) return;
    TensorView* output = nullptr;
    if (num_outputs_ == 1) {
      output = context.output_reusing(0, shape_, lenders_, num_lenders_);
      if (output == nullptr) return;
    }
    TensorView* variables[kMaxHandles];
    if (num_handles_ == 0) return run(context, variables, output);
    if (!context.lock_variables(handles_, num_handles_, variables)) return;
    if (check_variables(context, variables)) run(context, variables, output);
    context.unlock_variables(handles_, num_handles_);
  }

 private:
  // More than there may be, where the attribute does not fit.
  static int handles_of(KernelInit& init) {
    const int64_t handles = init.int_attr("H");
    return handles < 0 || handles > kMaxHandles ? kMaxHandles + 1 : static_cast<int>(handles);
  }

  bool check_values(KernelContext& context) const {
    for (int i = 0; i < num_values_; ++i) {
      const TensorView& value = context.input(num_handles_ + i);
      const bool is_scalar = program_.use_of_value(i) == ElementwiseProgram::Space::kScalar;
      if (is_scalar ? value.num_elements() == 1 : value.shape == shape_) continue;
      context.invalid("expected shape %s, got %s", is_scalar ? "[]" : text(shape_).c_str(),
                      text(value.shape).c_str());
      return false;
    }
    return true;
  }

  bool check_variables(KernelContext& context, TensorView* const* variables) const {
    for (int i = 0; i < num_handles_; ++i) {
      if (variables[i]->shape == shape_ && variables[i]->dtype == dtype_) continue;
      context.invalid("expected a variable of %s%s, got %s%s", dtype_name(dtype_),
                      text(shape_).c_str(), dtype_name(variables[i]->dtype),
                      text(variables[i]->shape).c_str());
      return false;
    }
    return true;
  }

  void run(KernelContext& context, TensorView* const* variables, TensorView* output) const {
    const char* values[kMaxValues];
    char* handles[kMaxHandles];
    for (int i = 0; i < num_values_; ++i) values[i] = context.input(num_handles_ + i).as<char>();
    for (int i = 0; i < num_handles_; ++i) handles[i] = variables[i]->as<char>();
    const ProgramMemory memory{values, handles, output == nullptr ? nullptr : output->as<char>()};
    for_ranges(context, shape_.num_elements(), kGrain,
               [&](int64_t begin, int64_t end) { program_.run(memory, begin, end); });
  }

  int num_handles_, num_values_, num_outputs_;
  DType dtype_;
  Shape shape_;
  ElementwiseProgram program_;
  int handles_[kMaxHandles];
  int lenders_[kMaxValues];
  int num_lenders_ = 0;
};

}  // namespace

void register_fused_elementwise(KernelRegistry& registry) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    registry.add<FusedElementwiseKernel>("_FusedElementwise", {{"T", dtype}});
  }
}

}  // namespace qanat::kernels_cpu
