// Pointwise ops, with broadcasting: `Add_float32` and so on.
#include "common.cuh"
#include "pointwise.cuh"

// How two inputs are broadcast to the output: strides in elements, 0 where an input repeats. The
// host joins dimensions wherever it can, so that inputs of one shape have rank 1.
struct Broadcast {
  Index count;
  Index rank;
  Index dims[kMaxRank];
  Index x_strides[kMaxRank];
  Index y_strides[kMaxRank];
};

struct Offsets {
  Index x, y;
};

__device__ inline Offsets offsets_of(Index i, const Broadcast& shape) {
  Offsets at = {0, 0};
  for (int d = int(shape.rank) - 1; d > 0; --d) {
    const Index place = i % shape.dims[d];
    i /= shape.dims[d];
    at.x += place * shape.x_strides[d];
    at.y += place * shape.y_strides[d];
  }
  at.x += i * shape.x_strides[0];
  at.y += i * shape.y_strides[0];
  return at;
}

template <typename Function, typename T>
__device__ void unary(T* out, const T* x, Index count) {
  for (Index i = first_index(); i < count; i += index_stride()) out[i] = Function::apply(x[i]);
}

template <typename Function, typename T, typename R>
__device__ void binary(R* out, const T* x, const T* y, const Broadcast& shape) {
  for (Index i = first_index(); i < shape.count; i += index_stride()) {
    const Offsets at = offsets_of(i, shape);
    out[i] = Function::apply(x[at.x], y[at.y]);
  }
}

#define QANAT_KERNEL(op, T, suffix) \
  KERNEL(op##_##suffix, T* out, const T* x, Index count) { unary<pointwise::op>(out, x, count); }
#define QANAT_KERNELS(op, value) QANAT_KERNEL(op, float, float32) QANAT_KERNEL(op, double, float64)
QANAT_UNARY(QANAT_KERNELS)
#undef QANAT_KERNEL

#define QANAT_KERNEL(op, T, suffix)                                        \
  KERNEL(op##_##suffix, T* out, const T* x, const T* y, Broadcast shape) { \
    binary<pointwise::op>(out, x, y, shape);                               \
  }
QANAT_BINARY(QANAT_KERNELS)
#undef QANAT_KERNEL

#define QANAT_KERNEL(op, T, suffix)                                           \
  KERNEL(op##_##suffix, bool* out, const T* x, const T* y, Broadcast shape) { \
    binary<pointwise::op>(out, x, y, shape);                                  \
  }
QANAT_COMPARISON(QANAT_KERNELS)
#undef QANAT_KERNEL
#undef QANAT_KERNELS

// out = condition ? x : y, all of one shape.
template <typename T>
__device__ void select(T* out, const bool* condition, const T* x, const T* y, Index count) {
  for (Index i = first_index(); i < count; i += index_stride()) out[i] = condition[i] ? x[i] : y[i];
}

#define QANAT_KERNEL(T, suffix)                                                                 \
  KERNEL(Select_##suffix, T* out, const bool* condition, const T* x, const T* y, Index count) { \
    select(out, condition, x, y, count);                                                        \
  }
QANAT_FLOATS(QANAT_KERNEL)
#undef QANAT_KERNEL
