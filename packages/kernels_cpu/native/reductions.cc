// Sum, Mean, Max, Min, Prod, All and Any over any set of axes.
#include <limits>

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/half_tiles.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/micro/reduce.h"
#include "packages/kernels_cpu/native/micro/transpose.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

using micro::Reduction;

// The input's dimensions, neighbours of one kind merged and those of 1 dropped.
struct Plan {
  int rank = 0;
  int64_t dims[kMaxRank];
  bool reduced[kMaxRank];
  Shape result;

  Plan(const Shape& in, uint32_t axes, bool keep_dims) {
    for (int axis = 0; axis < in.rank(); ++axis) {
      const bool goes = (axes >> axis & 1) != 0;
      if (!goes) result.add(in[axis]);
      if (goes && keep_dims) result.add(1);
      if (in[axis] != 1) append(in[axis], goes);
    }
  }

  bool reduces_nothing() const { return rank == 0 || (rank == 1 && !reduced[0]); }

  // [outer, reduced, inner], where the plan has this form.
  bool as_one_axis(micro::ReduceShape* shape) const {
    int at = 0;
    *shape = {1, 1, 1};
    if (at < rank && !reduced[at]) shape->outer = dims[at++];
    if (at < rank) shape->reduced = dims[at++];
    if (at < rank) shape->inner = dims[at++];
    return at == rank;
  }

  // The reduced dimensions moved behind the kept ones.
  void move_reduced_last(int* perm, micro::ReduceShape* shape) const {
    *shape = {1, 1, 1};
    int at = 0;
    for (int i = 0; i < rank; ++i) {
      if (reduced[i]) continue;
      perm[at++] = i;
      shape->outer *= dims[i];
    }
    for (int i = 0; i < rank; ++i) {
      if (!reduced[i]) continue;
      perm[at++] = i;
      shape->reduced *= dims[i];
    }
  }

 private:
  void append(int64_t dim, bool goes) {
    if (rank > 0 && reduced[rank - 1] == goes) {
      dims[rank - 1] *= dim;
      return;
    }
    dims[rank] = dim;
    reduced[rank++] = goes;
  }
};

// What a reduction over no elements gives.
template <typename T>
T identity(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  switch (reduction) {
    case Reduction::kSum:
      return T{0};
    case Reduction::kProd:
      return T{1};
    case Reduction::kMean:
      return Limits::has_quiet_NaN ? Limits::quiet_NaN() : T{0};
    case Reduction::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Reduction::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  return T{};
}

void fill_identity(Reduction reduction, const TensorView& out) {
  visit_reals(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    fill_run(T(identity<Computed<T>>(reduction)), out.as<T>(), out.num_elements());
  });
}

// Memory of this step for n elements of T; null, and a failure, where there is none.
template <typename T>
T* scratch_of(KernelContext& context, int64_t n) {
  return static_cast<T*>(context.scratch(static_cast<size_t>(n) * sizeof(T)));
}

// Reduces elements of a type that micro::reduce takes.
template <typename T>
bool reduce_plan(KernelContext& context, Reduction reduction, const Plan& plan, const T* in, T* out,
                 int64_t in_elements) {
  micro::ReduceShape shape;
  if (!plan.as_one_axis(&shape)) {
    int perm[kMaxRank];
    plan.move_reduced_last(perm, &shape);
    T* moved = scratch_of<T>(context, in_elements);
    if (moved == nullptr) return false;
    micro::transpose(plan.rank, plan.dims, perm, sizeof(T), in, moved, context.parallel());
    in = moved;
  }
  void* scratch = context.scratch(micro::reduce_scratch_bytes<T>(shape));
  if (scratch == nullptr) return false;
  micro::reduce(reduction, shape, in, out, scratch, context.parallel());
  return true;
}

// Reduces elements of another type in the wider type W. uint64 is ordered as int64 once its highest
// bit is flipped; its sums and products are the same bits.
template <typename W, typename T>
void reduce_widened(KernelContext& context, Reduction reduction, const Plan& plan,
                    const TensorView& in, const TensorView& out) {
  const bool orders = reduction == Reduction::kMax || reduction == Reduction::kMin;
  const bool flips = std::is_same_v<T, uint64_t> && orders;
  const auto flipped = [&](W x) -> W {
    if constexpr (std::is_same_v<T, uint64_t>) {
      return flips ? static_cast<W>(static_cast<uint64_t>(x) ^ uint64_t{1} << 63) : x;
    }
    return x;
  };
  const int64_t n = in.num_elements(), m = out.num_elements();
  W* wide = scratch_of<W>(context, n);
  W* results = scratch_of<W>(context, m);
  if (wide == nullptr || results == nullptr) return;
  for (int64_t i = 0; i < n; ++i) wide[i] = flipped(static_cast<W>(in.as<T>()[i]));
  if (!reduce_plan<W>(context, reduction, plan, wide, results, n)) return;
  for (int64_t i = 0; i < m; ++i) out.as<T>()[i] = static_cast<T>(flipped(results[i]));
}

void reduce_tensor(KernelContext& context, Reduction reduction, const Plan& plan,
                   const TensorView& in, const TensorView& out) {
  visit_reals(in.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr bool kDirect = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                             std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>;
    if constexpr (kDirect) {
      reduce_plan<T>(context, reduction, plan, in.as<T>(), out.as<T>(), in.num_elements());
    } else if constexpr (is_half<T>) {
      reduce_widened<float, T>(context, reduction, plan, in, out);
    } else {
      reduce_widened<int64_t, T>(context, reduction, plan, in, out);
    }
  });
}

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
    const Plan plan(in.shape, axes, keep_dims_);
    if (in.num_elements() != 0 && plan.reduces_nothing()) {
      context.output_alias(0, 0, plan.result);
      return;
    }
    TensorView* out = context.output(0, plan.result);
    if (out == nullptr || out->num_elements() == 0) return;
    if (in.num_elements() == 0) return fill_empty(*out);
    reduce(context, plan, in, *out);
  }

 private:
  virtual void fill_empty(const TensorView& out) const = 0;
  virtual void reduce(KernelContext& context, const Plan& plan, const TensorView& in,
                      const TensorView& out) const = 0;

  bool keep_dims_;
};

template <Reduction kReduction>
class ReductionKernel final : public ReductionKernelBase {
 public:
  using ReductionKernelBase::ReductionKernelBase;

 private:
  void fill_empty(const TensorView& out) const override { fill_identity(kReduction, out); }
  void reduce(KernelContext& context, const Plan& plan, const TensorView& in,
              const TensorView& out) const override {
    reduce_tensor(context, kReduction, plan, in, out);
  }
};

// All is the minimum of its bits, Any the maximum.
template <bool kAll>
class BoolReductionKernel final : public ReductionKernelBase {
 public:
  using ReductionKernelBase::ReductionKernelBase;

 private:
  void fill_empty(const TensorView& out) const override {
    fill_run(kAll, out.as<bool>(), out.num_elements());
  }

  void reduce(KernelContext& context, const Plan& plan, const TensorView& in,
              const TensorView& out) const override {
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
