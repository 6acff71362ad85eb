// Sum, Mean, Max, Min, Prod, All and Any over any set of axes.
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/micro/transpose.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/reduction_plan.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

using micro::Reduction;

class ReductionKernelBase : public Kernel {
 public:
  explicit ReductionKernelBase(KernelInit& init) : keep_dims_(init.bool_attr("keep_dims")) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "axes");
  }

  void compute(KernelContext& context) final {
    const TensorView& in = context.input(0);
    uint32_t axes = 0;
    if (!read_axes(context, 1, in.rank(), &axes)) return;
    const ReductionPlan plan(in.shape, axes, keep_dims_);
    if (in.num_elements() != 0 && plan.reduces_nothing()) {
      context.output_alias(0, 0, plan.result);
      return;
    }
    TensorView* out = context.output(0, plan.result);
    if (out == nullptr || out->num_elements() == 0) return;
    reduce(context, plan, in, *out);
  }

 private:
  virtual void reduce(KernelContext& context, const ReductionPlan& plan, const TensorView& in,
                      const TensorView& out) const = 0;

  bool keep_dims_;
};

template <Reduction kReduction>
class ReductionKernel final : public ReductionKernelBase {
 public:
  using ReductionKernelBase::ReductionKernelBase;

 private:
  void reduce(KernelContext& context, const ReductionPlan& plan, const TensorView& in,
              const TensorView& out) const override {
    reduce_tensor(context, kReduction, plan, in, out);
  }
};

// All is the minimum of its bits, Any the maximum.
template <bool kAll>
class BoolReductionKernel final : public ReductionKernelBase {
 public:
  explicit BoolReductionKernel(KernelInit& init) : ReductionKernelBase(init) {
    expect_dtype(init, 0, DType::kBool, "an input");
  }

 private:
  void reduce(KernelContext& context, const ReductionPlan& plan, const TensorView& in,
              const TensorView& out) const override {
    if (in.num_elements() == 0) return fill_run(kAll, out.as<bool>(), out.num_elements());
    micro::ReduceShape shape;
    const bool* from = in.as<bool>();
    if (!plan.as_one_axis(&shape)) {
      int perm[kMaxRank];
      plan.move_reduced_last(perm, &shape);
      bool* moved = scratch_of<bool>(context, in.num_elements());
      if (moved == nullptr) return;
      micro::transpose(plan.rank, plan.dims, perm, 1, from, moved, context.parallel());
      from = moved;
    }
    const int64_t inner = shape.inner, rows = shape.reduced;
    for_ranges(context, shape.outer, row_grain(rows * inner), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        bool* to = out.as<bool>() + o * inner;
        std::fill(to, to + inner, kAll);
        for (int64_t r = 0; r < rows; ++r) {
          const bool* row = from + (o * rows + r) * inner;
          for (int64_t i = 0; i < inner; ++i) to[i] = kAll ? to[i] & row[i] : to[i] | row[i];
        }
      }
    });
  }
};

}  // namespace

void register_reductions(KernelRegistry& registry) {
  add_each<ReductionKernel<Reduction::kSum>>(registry, "Sum", "T", kReals);
  add_each<ReductionKernel<Reduction::kMean>>(registry, "Mean", "T", kReals);
  add_each<ReductionKernel<Reduction::kMax>>(registry, "Max", "T", kReals);
  add_each<ReductionKernel<Reduction::kMin>>(registry, "Min", "T", kReals);
  add_each<ReductionKernel<Reduction::kProd>>(registry, "Prod", "T", kReals);
  registry.add<BoolReductionKernel<true>>("All", {});
  registry.add<BoolReductionKernel<false>>("Any", {});
}

}  // namespace qanat::kernels_cpu
