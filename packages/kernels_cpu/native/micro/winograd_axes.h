// The transforms of Winograd's convolution along one axis, of vectors that hold channels.
//
// A product of polynomials is known from its values at enough points. To six points, 0, -+
// sqrt(1/2),
// -+ sqrt(2) and infinity (where a polynomial's value is its highest coefficient), belong
//
//   Evaluate<n>            E, the values of a polynomial of n coefficients,
//   EvaluateTransposed<n>  E's transpose,
//   Interpolate            the transpose of what leads from six values back to six coefficients,
//                          but for a factor a point, 1 / product of the distances to the others,
//   scale                  that factor.
//
// By transposition (Winograd 1980, chapter V) a correlation of six values d with r taps g, at m
// places, m + r = 7, is E_m' (scale(E_r g) * Interpolate(d)), * being the product point by point;
// and the gradient of g is E_r' scale(E_m y * Interpolate(d)), where y is that of the results.
//
// Of the points tried these round best: a and 1/a keep all values of like size, and their squares,
// which are most of the factors, are powers of two. With 1 and 2 the error is four times as large.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_AXES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_AXES_H_

#include "packages/kernels_cpu/native/micro/winograd_table.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

using FloatVec = Vec<float>;

inline constexpr float kNear = 0.70710678118654752F;  // points 1 and 2 are this and its negative
inline constexpr float kFar = 1.41421356237309505F;   // points 3 and 4

struct Interpolate {
  static constexpr int kIn = kWinogradSize;
  static constexpr int kOut = kWinogradSize;

  static QANAT_INLINE void run(const FloatVec* x, FloatVec* y) {
    const FloatVec near_even = x[4] - 2.0F * x[2];
    const FloatVec near_odd = x[3] - 2.0F * x[1];
    const FloatVec far_even = x[4] - 0.5F * x[2];
    const FloatVec far_odd = x[3] - 0.5F * x[1];
    y[0] = x[0] + x[4] - 2.5F * x[2];
    y[1] = near_even + kNear * near_odd;
    y[2] = near_even - kNear * near_odd;
    y[3] = far_even + kFar * far_odd;
    y[4] = far_even - kFar * far_odd;
    y[5] = x[1] + x[5] - 2.5F * x[3];
  }
};

template <int kCoefficients>
struct Evaluate {
  static constexpr int kIn = kCoefficients;
  static constexpr int kOut = kWinogradSize;

  static QANAT_INLINE void run(const FloatVec* x, FloatVec* y) {
    FloatVec near_even = x[0], near_odd = x[1], far_even = x[0], far_odd = x[1];
    if constexpr (kIn > 2) near_even += 0.5F * x[2], far_even += 2.0F * x[2];
    if constexpr (kIn > 3) near_odd += 0.5F * x[3], far_odd += 2.0F * x[3];
    if constexpr (kIn > 4) near_even += 0.25F * x[4], far_even += 4.0F * x[4];
    y[0] = x[0];
    y[1] = near_even + kNear * near_odd;
    y[2] = near_even - kNear * near_odd;
    y[3] = far_even + kFar * far_odd;
    y[4] = far_even - kFar * far_odd;
    y[5] = x[kIn - 1];
  }
};

template <int kCoefficients>
struct EvaluateTransposed {
  static constexpr int kIn = kWinogradSize;
  static constexpr int kOut = kCoefficients;

  static QANAT_INLINE void run(const FloatVec* x, FloatVec* y) {
    const FloatVec near_even = x[1] + x[2], near_odd = kNear * (x[1] - x[2]);
    const FloatVec far_even = x[3] + x[4], far_odd = kFar * (x[3] - x[4]);
    y[0] = x[0] + near_even + far_even;
    y[1] = near_odd + far_odd;
    if constexpr (kOut > 2) y[2] = 0.5F * near_even + 2.0F * far_even;
    if constexpr (kOut > 3) y[3] = 0.5F * near_odd + 2.0F * far_odd;
    if constexpr (kOut > 4) y[4] = 0.25F * near_even + 4.0F * far_even;
    y[kOut - 1] += x[5];
  }
};

QANAT_INLINE void scale(const FloatVec* x, FloatVec* y) {
  constexpr float kNearFactor = -2.0F / 3.0F, kFarFactor = 1.0F / 6.0F;
  y[0] = x[0];
  y[1] = kNearFactor * x[1];
  y[2] = kNearFactor * x[2];
  y[3] = kFarFactor * x[3];
  y[4] = kFarFactor * x[4];
  y[5] = x[5];
}

template <typename Axis>
struct ThenScale {
  static constexpr int kIn = Axis::kIn;
  static constexpr int kOut = Axis::kOut;

  static QANAT_INLINE void run(const FloatVec* x, FloatVec* y) {
    Axis::run(x, y);
    scale(y, y);
  }
};

template <typename Axis>
struct ScaleThen {
  static constexpr int kIn = Axis::kIn;
  static constexpr int kOut = Axis::kOut;

  static QANAT_INLINE void run(const FloatVec* x, FloatVec* y) {
    FloatVec scaled[kIn];
    scale(x, scaled);
    Axis::run(scaled, y);
  }
};

// Along both axes: element (row, col) of the square is read(row, col); write(row, col, value) takes
// what becomes of it.
template <typename Axis, typename Read, typename Write>
QANAT_INLINE void transform_square(Read read, Write write) {
  constexpr int kIn = Axis::kIn, kOut = Axis::kOut;
  FloatVec half[kOut][kIn];
#pragma GCC unroll 6
  for (int col = 0; col < kIn; ++col) {
    FloatVec x[kIn], y[kOut];
#pragma GCC unroll 6
    for (int row = 0; row < kIn; ++row) x[row] = read(row, col);
    Axis::run(x, y);
#pragma GCC unroll 6
    for (int row = 0; row < kOut; ++row) half[row][col] = y[row];
  }
#pragma GCC unroll 6
  for (int row = 0; row < kOut; ++row) {
    FloatVec y[kOut];
    Axis::run(half[row], y);
#pragma GCC unroll 6
    for (int col = 0; col < kOut; ++col) write(row, col, y[col]);
  }
}

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_AXES_H_
