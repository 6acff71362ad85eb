// BiasAdd and its gradient, along the last dimension.
#include "packages/kernels_cpu/native/broadcast_spans.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/reduction_plan.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

void expect_nhwc(KernelInit& init) {
  if (init.has_attr("data_format") && init.string_attr("data_format") != "NHWC") {
    init.invalid("expected data_format NHWC");
  }
}

bool expect_matrix(KernelContext& context) {
  if (context.input(0).rank() >= 2) return true;
  context.invalid("expected an input of rank 2 or more, got shape %s",
                  text(context.input(0).shape).c_str());
  return false;
}

class BiasAddKernel final : public Kernel {
 public:
  explicit BiasAddKernel(KernelInit& init)
      : add_(BinaryOp::kAdd, input_dtype(init, 0), output_dtype(init, 0), 0) {
    expect_nhwc(init);
    if (!expect_arity(init, 2, 1)) return;
    expect_same_dtype(init, 0, 1);
    expect_output_dtype(init, 0, 0);
    add_.expect_exist(init);
  }

  void compute(KernelContext& context) override {
    const TensorView& value = context.input(0);
    if (!expect_matrix(context)) return;
    if (!expect_vector(context, 1, "a bias", value.dim(value.rank() - 1))) return;
    constexpr int kValue = 0;
    TensorView* out = context.output_reusing(0, value.shape, &kValue, 1);
    if (out == nullptr || value.num_elements() == 0) return;
    run_broadcast(context, add_, value, context.input(1), *out);
  }

 private:
  BinarySpans add_;
};

class BiasAddGradKernel final : public Kernel {
 public:
  explicit BiasAddGradKernel(KernelInit& init) {
    expect_nhwc(init);
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (!expect_matrix(context)) return;
    const uint32_t all_but_last = (uint32_t{1} << (in.rank() - 1)) - 1;
    const ReductionPlan plan(in.shape, all_but_last, false);
    if (in.num_elements() != 0 && plan.reduces_nothing()) {
      context.output_alias(0, 0, plan.result);
      return;
    }
    TensorView* out = context.output(0, plan.result);
    if (out == nullptr || out->num_elements() == 0) return;
    reduce_tensor(context, micro::Reduction::kSum, plan, in, *out);
  }
};

}  // namespace

void register_bias(KernelRegistry& registry) {
  add_each<BiasAddKernel>(registry, "BiasAdd", "T", kReals);
  add_each<BiasAddGradKernel>(registry, "BiasAddGrad", "T", kReals);
}

}  // namespace qanat::kernels_cpu
