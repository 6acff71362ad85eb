// Sums, maxima and minima, in an order that depends on the shapes alone.
#include "common.cuh"

// An array [outer, length, inner] is reduced along its middle. A long middle is first reduced in
// `splits` pieces, by as many blocks; out is [outer, splits, inner].
struct Reduced {
  Index outer, length, inner, splits;
};

struct Span {
  Index begin, end;
};

__device__ inline Span piece(const Reduced& shape, Index split) {
  const Index most = (shape.length + shape.splits - 1) / shape.splits;
  const Index begin = split * most;
  const Index end = begin + most;
  return {begin, end < shape.length ? end : shape.length};
}

// inner = 1: a block reduces a piece of a row. Blocks: splits x outer.
template <typename Combine, typename T>
__device__ void reduce_rows(T* out, const T* x, const Reduced& shape, T start, T scale) {
  for (Index row = blockIdx.y; row < shape.outer; row += gridDim.y) {
    const Span span = piece(shape, blockIdx.x);
    T total = start;
    for (Index i = span.begin + threadIdx.x; i < span.end; i += kBlock) {
      total = Combine()(total, x[row * shape.length + i]);
    }
    total = combine_block(total, Combine());
    if (threadIdx.x == 0) out[row * shape.splits + blockIdx.x] = total * scale;
  }
}

// A thread reduces a piece of a column; neighbours read neighbours. Blocks: columns x splits x
// outer.
template <typename Combine, typename T>
__device__ void reduce_columns(T* out, const T* x, const Reduced& shape, T start, T scale) {
  for (Index row = blockIdx.z; row < shape.outer; row += gridDim.z) {
    const Span span = piece(shape, blockIdx.y);
    for (Index column = first_index(); column < shape.inner; column += index_stride()) {
      T total = start;
      for (Index i = span.begin; i < span.end; ++i) {
        total = Combine()(total, x[(row * shape.length + i) * shape.inner + column]);
      }
      out[(row * shape.splits + blockIdx.y) * shape.inner + column] = total * scale;
    }
  }
}

#define QANAT_KERNEL(op, Combine, T, suffix)                                                     \
  KERNEL(op##_rows_##suffix, T* out, const T* x, Reduced shape, double start, double scale) {    \
    reduce_rows<Combine>(out, x, shape, T(start), T(scale));                                     \
  }                                                                                              \
  KERNEL(op##_columns_##suffix, T* out, const T* x, Reduced shape, double start, double scale) { \
    reduce_columns<Combine>(out, x, shape, T(start), T(scale));                                  \
  }
#define QANAT_KERNELS(T, suffix)       \
  QANAT_KERNEL(Sum, Plus, T, suffix)   \
  QANAT_KERNEL(Max, Larger, T, suffix) \
  QANAT_KERNEL(Min, Smaller, T, suffix)
QANAT_FLOATS(QANAT_KERNELS)
#undef QANAT_KERNELS
#undef QANAT_KERNEL
