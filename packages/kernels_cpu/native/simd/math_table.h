// The functions of math.h behind pointers, for the test, which is compiled once.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_TABLE_H_

#include <cstdint>

namespace qanat::simd {

// y[i] = f(x[i]), in place.
template <typename T>
struct MathFunctions {
  using Function = void (*)(T* x, int64_t count);
  Function exp, expm1, log, log1p, tanh, sigmoid, erf, sin, cos, sqrt, rsqrt;
};

struct MathTable {
  MathFunctions<float> f32;
  MathFunctions<double> f64;
};

}  // namespace qanat::simd

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_TABLE_H_
