// Products of matrices in memory.
#include "product.cuh"

#define QANAT_KERNEL(T, suffix)                                                               \
  KERNEL(matmul_##suffix, T* out, Matrix<T> a, Matrix<T> b, Extent extent, Epilogue<T> end) { \
    multiply(out, a, b, extent, end);                                                         \
  }
QANAT_FLOATS(QANAT_KERNEL)
#undef QANAT_KERNEL

// The epilogue of a product that a library has made.
#define QANAT_KERNEL(T, suffix)                                                   \
  KERNEL(finish_##suffix, T* sums, Index count, Index columns, Epilogue<T> end) { \
    for (Index i = first_index(); i < count; i += index_stride()) {               \
      sums[i] = end.apply(sums[i], i % columns);                                  \
    }                                                                             \
  }
QANAT_FLOATS(QANAT_KERNEL)
#undef QANAT_KERNEL
