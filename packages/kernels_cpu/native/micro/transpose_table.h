// What of transposition is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_TABLE_H_

#include <cstdint>

namespace qanat::micro {

// to[col * to_stride + row] = from[row * from_stride + col]; strides count elements.
using TransposeMatrix = void (*)(const void* from, int64_t rows, int64_t cols, int64_t from_stride,
                                 int64_t to_stride, void* to);

// By the elements' size in bytes.
struct TransposeTable {
  TransposeMatrix bytes1, bytes2, bytes4, bytes8, bytes16;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_TRANSPOSE_TABLE_H_
