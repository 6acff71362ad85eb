// NumPy's broadcasting: shapes aligned at their last dimension, and a dimension of 1 repeats.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_H_
#define PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_H_

#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/strided_walk.h"

namespace qanat::kernels_cpu {

// The common shape of a and b, or a failure.
inline bool broadcast_shape(FailureSink& sink, const Shape& a, const Shape& b, Shape* common) {
  const int rank = std::max(a.rank(), b.rank());
  *common = Shape();
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank());
    const int in_b = i - (rank - b.rank());
    const int64_t dim_a = in_a < 0 ? 1 : a[in_a];
    const int64_t dim_b = in_b < 0 ? 1 : b[in_b];
    if (dim_a != dim_b && dim_a != 1 && dim_b != 1) {
      sink.invalid("expected shapes that broadcast, got %s and %s", text(a).c_str(),
                   text(b).c_str());
      return false;
    }
    if (!common->add(dim_a == 1 ? dim_b : dim_a)) {
      sink.invalid("expected a broadcast shape of fewer than 2^63 elements, got %s and %s",
                   text(a).c_str(), text(b).c_str());
      return false;
    }
  }
  return true;
}

// The walk of operands that broadcast to `common`, which has at least one element.
template <int N>
StridedWalk<N> broadcast_walk(const Shape& common, const Shape* const (&operands)[N]) {
  int64_t strides[kMaxRank][N] = {};
  for (int i = 0; i < N; ++i) {
    const Shape& shape = *operands[i];
    const int lead = common.rank() - shape.rank();
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      strides[lead + axis][i] = shape[axis] == 1 ? 0 : stride;
      stride *= shape[axis];
    }
  }
  StridedWalk<N> walk;
  for (int axis = 0; axis < common.rank(); ++axis) walk.append(common[axis], strides[axis]);
  return walk;
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_H_
