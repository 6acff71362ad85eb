// A reduction over any set of axes as one over a single axis.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_REDUCTION_PLAN_H_
#define PACKAGES_KERNELS_CPU_NATIVE_REDUCTION_PLAN_H_

#include "packages/core/native/kernel/kernel.h"
#include "packages/kernels_cpu/native/micro/reduce.h"

namespace qanat::kernels_cpu {

// The input's dimensions, neighbours of one kind merged and those of 1 dropped.
struct ReductionPlan {
  int rank = 0;
  int64_t dims[kMaxRank];
  bool reduced[kMaxRank];
  Shape result;

  ReductionPlan(const Shape& in, uint32_t axes, bool keep_dims) {
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

// out = the reduction of `in`, of any dtype of real numbers; out's shape is plan.result, and it has
// elements.
void reduce_tensor(KernelContext& context, micro::Reduction reduction, const ReductionPlan& plan,
                   const TensorView& in, const TensorView& out);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_REDUCTION_PLAN_H_
