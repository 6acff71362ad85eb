#include "packages/kernels_cpu/native/reduction_plan.h"

#include <limits>

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/micro/transpose.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

using micro::Reduction;

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

// Reduces elements of a type that micro::reduce takes.
template <typename T>
bool reduce_plan(KernelContext& context, Reduction reduction, const ReductionPlan& plan,
                 const T* in, T* out, int64_t in_elements) {
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
void reduce_widened(KernelContext& context, Reduction reduction, const ReductionPlan& plan,
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

}  // namespace

void reduce_tensor(KernelContext& context, Reduction reduction, const ReductionPlan& plan,
                   const TensorView& in, const TensorView& out) {
  if (in.num_elements() == 0) return fill_identity(reduction, out);
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

}  // namespace qanat::kernels_cpu
