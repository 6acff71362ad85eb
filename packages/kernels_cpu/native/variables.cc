// Variables, through the host's methods for them.
#include "packages/kernels_cpu/native/binary_spans.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

bool expect_handle(KernelInit& init) {
  return expect_dtype(init, 0, DType::kResource, "a variable's handle");
}

// A handle is one element.
bool expect_one_handle(KernelContext& context) {
  if (context.input(0).num_elements() == 1) return true;
  context.invalid("expected one handle, got shape %s", text(context.input(0).shape).c_str());
  return false;
}

class VarHandleKernel final : public Kernel {
 public:
  explicit VarHandleKernel(KernelInit& init)
      : container_(init.string_attr("container")),
        name_(init.string_attr("shared_name")),
        dtype_(init.type_attr("dtype")) {
    if (name_.empty()) name_ = init.node_name();
    expect_arity(init, 0, 1);
  }

  void compute(KernelContext& context) override {
    context.output_variable(0, container_, name_, dtype_);
  }

 private:
  std::string_view container_, name_;
  DType dtype_;
};

class ReadVariableKernel final : public Kernel {
 public:
  explicit ReadVariableKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_handle(init);
  }

  void compute(KernelContext& context) override {
    if (expect_one_handle(context)) context.read_variable(0, 0);
  }
};

// The variable's value, or input 1 where it has none yet.
class ReadVariableOrElseKernel final : public Kernel {
 public:
  explicit ReadVariableOrElseKernel(KernelInit& init) {
    if (expect_arity(init, 2, 1) && expect_handle(init)) expect_output_dtype(init, 1, 0);
  }

  void compute(KernelContext& context) override {
    if (!expect_one_handle(context)) return;
    if (context.variable_initialized(0)) {
      context.read_variable(0, 0);
    } else {
      context.output_alias(0, 1, context.input(1).shape);
    }
  }
};

class VarIsInitializedKernel final : public Kernel {
 public:
  explicit VarIsInitializedKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_handle(init);
  }

  void compute(KernelContext& context) override {
    if (!expect_one_handle(context)) return;
    TensorView* out = context.output(0, Shape());
    if (out != nullptr) *out->as<bool>() = context.variable_initialized(0);
  }
};

class AssignVariableKernel final : public Kernel {
 public:
  explicit AssignVariableKernel(KernelInit& init) {
    if (expect_arity(init, 2, 0)) expect_handle(init);
  }

  void compute(KernelContext& context) override {
    if (expect_one_handle(context)) context.assign_variable(0, 1);
  }
};

// variable = op(variable, value), elementwise, under the variable's lock.
template <BinaryOp kOp>
class UpdateVariableKernel final : public Kernel {
 public:
  explicit UpdateVariableKernel(KernelInit& init)
      : spans_(kOp, input_dtype(init, 1), input_dtype(init, 1), 0) {
    if (expect_arity(init, 2, 0) && expect_handle(init)) spans_.expect_exist(init);
  }

  void compute(KernelContext& context) override {
    if (!expect_one_handle(context)) return;
    constexpr int kHandle = 0;
    TensorView* variable = nullptr;
    if (!context.lock_variables(&kHandle, 1, &variable)) return;
    update(context, *variable, context.input(1));
    context.unlock_variables(&kHandle, 1);
  }

 private:
  void update(KernelContext& context, const TensorView& variable, const TensorView& value) const {
    if (variable.dtype != value.dtype || !(variable.shape == value.shape)) {
      return context.invalid("expected %s of the variable's shape %s, got %s of shape %s",
                             dtype_name(variable.dtype), text(variable.shape).c_str(),
                             dtype_name(value.dtype), text(value.shape).c_str());
    }
    const int64_t size = static_cast<int64_t>(dtype_size(value.dtype));
    for_ranges(context, value.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      char* to = variable.as<char>() + begin * size;
      spans_.run(kSame, to, value.as<char>() + begin * size, to, end - begin);
    });
  }

  BinarySpans spans_;
};

}  // namespace

void register_variables(KernelRegistry& registry) {
  add_each<VarHandleKernel>(registry, "VarHandleOp", "dtype", kArrays);
  add_each<ReadVariableKernel>(registry, "ReadVariableOp", "dtype", kArrays);
  add_each<ReadVariableOrElseKernel>(registry, "ReadVariableOrElseOp", "dtype", kArrays);
  add_each<AssignVariableKernel>(registry, "AssignVariableOp", "dtype", kArrays);
  add_each<UpdateVariableKernel<BinaryOp::kAdd>>(registry, "AssignAddVariableOp", "dtype", kReals);
  add_each<UpdateVariableKernel<BinaryOp::kSub>>(registry, "AssignSubVariableOp", "dtype", kReals);
  registry.add<VarIsInitializedKernel>("VarIsInitializedOp", {});
}

}  // namespace qanat::kernels_cpu
