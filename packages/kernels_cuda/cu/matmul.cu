// Products of matrices in memory.
#include "product.cuh"

#define QANAT_KERNEL(T, suffix)                                                               \
  KERNEL(matmul_##suffix, T* out, Matrix<T> a, Matrix<T> b, Extent extent, Epilogue<T> end) { \
    multiply(out, a, b, extent, end);                                                         \
  }
QANAT_FLOATS(QANAT_KERNEL)
#undef QANAT_KERNEL
