// float16 and bfloat16 are computed in float32, a tile at a time.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_HALF_TILES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_HALF_TILES_H_

#include <cstdint>

#include "packages/core/native/kernel/dtype.h"

namespace qanat::kernels_cpu {

inline constexpr int64_t kHalfTile = 256;

constexpr bool is_half_dtype(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// The dtype that arithmetic on `dtype` is done in.
constexpr DType computed_dtype(DType dtype) {
  return is_half_dtype(dtype) ? DType::kFloat32 : dtype;
}

// n elements of the half type `dtype` to or from float32.
void widen(DType dtype, const void* from, float* to, int64_t n);
void narrow(DType dtype, const float* from, void* to, int64_t n);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_HALF_TILES_H_
