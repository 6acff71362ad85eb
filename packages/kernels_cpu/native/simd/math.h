// Elementary functions of vectors, float and double: to about one unit in the last place
// (math_test.cc holds each to its bound), right for zeros, infinities, NaN and subnormal numbers.
//
// The polynomials interpolate at Chebyshev points, which is within a small factor of the best
// approximation there is. Their coefficients start with that of power 0.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_H_

#include <cstdint>
#include <type_traits>

#include "packages/kernels_cpu/native/simd/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace qanat::simd::QANAT_SIMD_NS {

template <typename T>
struct MathConstants;

template <>
struct MathConstants<float> {
  static constexpr int kMantissaBits = 23;
  static constexpr int kExponentBias = 127;
  // Adding and subtracting it rounds to an integer.
  static constexpr float kRounder = 0x1.8p23f;
  static constexpr float kSmallestNormal = 0x1p-126f;
  static constexpr float kInfinity = __builtin_inff();
  // exp() is 0 below and infinite above, and neither reaches the limits of the exponent's
  // arithmetic.
  static constexpr float kExpLow = -104, kExpHigh = 89;
  // tanh() and erf() are 1 from here on.
  static constexpr float kTanhHigh = 9.1f, kErfHigh = 4.1f;
  // High parts end in zeros, so that small integers multiply them exactly.
  static constexpr float kLog2High = 0.693115234f, kLog2Low = 3.19461849e-05f;
  // (exp(x) - 1 - x) / x^2 where |x| <= log(2) / 2.
  static constexpr float kExp[] = {0.5f, 0.166665763f, 0.0416665561f, 0.008363178f, 0.00139261817f};
  // (2 atanh(s) / s - 2) / s^2, in s^2, where s = f / (2 + f) and sqrt(1/2) <= 1 + f <= sqrt(2).
  static constexpr float kLog[] = {0.666666687f, 0.400001228f, 0.285508037f, 0.233309641f};
  // (tanh(x) / x - 1) / x^2, in x^2, where |x| <= 0.625.
  static constexpr float kTanh[] = {-0.333333343f, 0.133333027f,    -0.0539592281f,
                                    0.0217686668f, -0.00834311917f, 0.00229180953f};
  // (sin(x) / x - 1) / x^2 and (cos(x) - 1 + x^2 / 2) / x^4, in x^2, where |x| <= pi / 4.
  static constexpr float kSin[] = {-0.166666672f, 0.00833333191f, -0.00019840087f, 2.72499005e-06f};
  static constexpr float kCos[] = {0.0416666679f, -0.00138888881f, 2.48005999e-05f,
                                   -2.73009391e-07f};
  // erf(x) / x - 1, in x^2, where |x| <= 1.
  static constexpr float kErf[] = {0.128379166f,   -0.37612626f,    0.112835944f,   -0.0268542115f,
                                   0.00518908724f, -0.00080168643f, 7.87587487e-05f};
  // exp(x^2) erfc(x), in 1 / (x + kErfcShift), where 1 <= x <= kErfHigh.
  static constexpr float kErfcShift = 2;
  static constexpr float kErfc[] = {0.000569834723f, 0.548139393f, 1.31417406f, 0.85946697f,
                                    6.31406689f,     -1.60245132f, -3.57782149f};
};

template <>
struct MathConstants<double> {
  static constexpr int kMantissaBits = 52;
  static constexpr int kExponentBias = 1023;
  static constexpr double kRounder = 0x1.8p52;
  static constexpr double kSmallestNormal = 0x1p-1022;
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kExpLow = -746, kExpHigh = 710;
  static constexpr double kTanhHigh = 19.1, kErfHigh = 6.1;
  static constexpr double kLog2High = 0.69314718048553914, kLog2Low = 7.4406171100123968e-11;
  static constexpr double kExp[] = {0.50000000000000011,    0.16666666666666669,
                                    0.041666666666624136,   0.0083333333333300633,
                                    0.001388888891720967,   0.00019841269863050506,
                                    2.4801521302241082e-05, 2.7557268464831627e-06,
                                    2.7620085455018414e-07, 2.5100383195867021e-08};
  static constexpr double kLog[] = {0.66666666666666696, 0.39999999999899238, 0.28571428626095891,
                                    0.22222211115144161, 0.18182890556695602, 0.15331674030167861,
                                    0.1461703754879165};
  static constexpr double kTanh[] = {
      -0.33333333333333331,   0.13333333333333039,     -0.053968253967893842,
      0.021869488518873555,   -0.0088632351002970646,  0.0035921217137875549,
      -0.0014557751173983799, 0.00058965917043080334,  -0.00023758584039791723,
      9.2561530365167444e-05, -3.1190227437815513e-05, 6.4798729189511094e-06};
  static constexpr double kSin[] = {-0.16666666666666666,    0.0083333333333333315,
                                    -0.00019841269841265063, 2.7557319219337672e-06,
                                    -2.5052106231927857e-08, 1.6058531536611833e-10,
                                    -7.5866922620943438e-13};
  static constexpr double kCos[] = {0.041666666666666664,   -0.0013888888888887398,
                                    2.4801587298764778e-05, -2.7557317271258515e-07,
                                    2.0876146170183976e-09, -1.1382625349447592e-11};
  static constexpr double kErf[] = {
      0.12837916709551257,     -0.37612638903183754,    0.11283791670955126,
      -0.026866170645131218,   0.0052239776254416736,   -0.0008548327023403001,
      0.00012055332978879483,  -1.4925650236967501e-05, 1.6462110782018636e-06,
      -1.6365768648832071e-07, 1.4806027146128752e-08,  -1.2277734486795524e-09,
      9.3237235181530271e-11,  -6.1967364287876997e-12, 2.8067128195611264e-13};
  static constexpr double kErfcShift = 3;
  static constexpr double kErfc[] = {
      3.7160468405148501e-07, 0.56415451087551183, 1.6941064643649599, 4.7540808609585126,
      13.466548564801611,     20.425175953587726,  173.85177795339081, -704.1314310243713,
      5113.7748306163157,     -22363.563329448218, 75623.616497539362, -186347.17946521353,
      292805.07022233185,     -259996.60462115624, 100122.0885703706};
};

template <typename T, int kCount>
QANAT_INLINE Vec<T> polynomial(Vec<T> x, const T (&coefficients)[kCount]) {
  Vec<T> y = splat(coefficients[kCount - 1]);
#pragma GCC unroll 16
  for (int i = kCount - 2; i >= 0; --i) y = fma(y, x, splat(coefficients[i]));
  return y;
}

template <typename T>
QANAT_INLINE Vec<Int<T>> int_bits(Vec<T> x) {
  return bits_as<Vec<Int<T>>>(x);
}

template <typename T>
QANAT_INLINE Vec<T> float_of_bits(Vec<Int<T>> bits) {
  return bits_as<Vec<T>>(bits);
}

template <typename T>
QANAT_INLINE Vec<T> abs(Vec<T> x) {
  constexpr Int<T> kAllButSign = ~(Int<T>{1} << (8 * sizeof(T) - 1));
  return float_of_bits<T>(int_bits<T>(x) & splat(kAllButSign));
}

template <typename T>
QANAT_INLINE Vec<T> copy_sign(Vec<T> magnitude, Vec<T> sign) {
  const Vec<Int<T>> sign_bit = splat(static_cast<Int<T>>(Int<T>{1} << (8 * sizeof(T) - 1)));
  return float_of_bits<T>((int_bits<T>(magnitude) & ~sign_bit) | (int_bits<T>(sign) & sign_bit));
}

// 2^n for n within the range of normal exponents.
template <typename T>
QANAT_INLINE Vec<T> power_of_two(Vec<Int<T>> n) {
  using C = MathConstants<T>;
  return float_of_bits<T>((n + splat(Int<T>{C::kExponentBias})) << C::kMantissaBits);
}

#if defined(__AVX512F__)
QANAT_INLINE Vec<float> sqrt(Vec<float> x) { return bits_as<Vec<float>>(_mm512_sqrt_ps(x)); }
QANAT_INLINE Vec<double> sqrt(Vec<double> x) { return bits_as<Vec<double>>(_mm512_sqrt_pd(x)); }
#elif defined(__AVX2__)
QANAT_INLINE Vec<float> sqrt(Vec<float> x) { return bits_as<Vec<float>>(_mm256_sqrt_ps(x)); }
QANAT_INLINE Vec<double> sqrt(Vec<double> x) { return bits_as<Vec<double>>(_mm256_sqrt_pd(x)); }
#elif defined(__x86_64__)
QANAT_INLINE Vec<float> sqrt(Vec<float> x) { return bits_as<Vec<float>>(_mm_sqrt_ps(x)); }
QANAT_INLINE Vec<double> sqrt(Vec<double> x) { return bits_as<Vec<double>>(_mm_sqrt_pd(x)); }
#elif defined(__aarch64__)
QANAT_INLINE Vec<float> sqrt(Vec<float> x) {
  return bits_as<Vec<float>>(vsqrtq_f32(bits_as<float32x4_t>(x)));
}
QANAT_INLINE Vec<double> sqrt(Vec<double> x) {
  return bits_as<Vec<double>>(vsqrtq_f64(bits_as<float64x2_t>(x)));
}
#else
QANAT_INLINE Vec<float> sqrt(Vec<float> x) {
  for (int i = 0; i < kLanes<float>; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
QANAT_INLINE Vec<double> sqrt(Vec<double> x) {
  for (int i = 0; i < kLanes<double>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
}
#endif

template <typename T>
QANAT_INLINE Vec<T> rsqrt(Vec<T> x) {
  return splat(T{1}) / sqrt(x);
}

// x = n log(2) + rest with |rest| <= log(2) / 2, and exp(rest) - 1.
template <typename T>
struct ExpParts {
  Vec<Int<T>> n;
  Vec<T> rest_minus_1;
};

template <typename T>
QANAT_INLINE ExpParts<T> exp_parts(Vec<T> x) {
  using C = MathConstants<T>;
  constexpr T kLog2E = static_cast<T>(1.4426950408889634);
  const Vec<T> shifted = fma(x, splat(kLog2E), splat(C::kRounder));
  const Vec<T> n = shifted - splat(C::kRounder);
  const Vec<T> rest = (x - n * splat(C::kLog2High)) - n * splat(C::kLog2Low);
  const Vec<T> tail = polynomial<T>(rest, C::kExp);
  return {int_bits<T>(shifted) - int_bits<T>(splat(C::kRounder)), fma(rest * rest, tail, rest)};
}

template <typename T>
QANAT_INLINE Vec<T> clamp_for_exp(Vec<T> x) {
  using C = MathConstants<T>;
  return max(splat(C::kExpLow), min(splat(C::kExpHigh), x));
}

// exp(x). The power of two is multiplied in two halves, as it may lie outside the range of
// exponents.
template <typename T>
QANAT_INLINE Vec<T> exp(Vec<T> x) {
  const ExpParts<T> parts = exp_parts<T>(clamp_for_exp<T>(x));
  const Vec<Int<T>> half = parts.n >> 1;
  return (splat(T{1}) + parts.rest_minus_1) * power_of_two<T>(half) *
         power_of_two<T>(parts.n - half);
}

// exp(x) - 1
template <typename T>
QANAT_INLINE Vec<T> expm1(Vec<T> x) {
  const ExpParts<T> parts = exp_parts<T>(clamp_for_exp<T>(x));
  const Vec<Int<T>> half = parts.n >> 1;
  const Vec<Int<T>> other = parts.n - half;
  const Vec<T> scale = power_of_two<T>(half);
  const Vec<T> y =
      power_of_two<T>(other) * (fma(scale, parts.rest_minus_1, scale - power_of_two<T>(-other)));
  // The sum above loses the sign of -0.
  return select<Vec<T>>(x == Vec<T>{}, x, y);
}

// log(2^scale u) + correction for a normal u in a wide sense: what is not positive or not finite
// is left to the callers.
template <typename T>
QANAT_INLINE Vec<T> log_of_normal(Vec<T> u, Vec<T> scale, Vec<T> correction) {
  using C = MathConstants<T>;
  // The integer that makes the bits of sqrt(1/2) those of 1.
  constexpr Int<T> kShift = sizeof(T) == 4
                                ? static_cast<Int<T>>(0x3f800000 - 0x3f3504f3)
                                : static_cast<Int<T>>(0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  constexpr Int<T> kMantissa = (Int<T>{1} << C::kMantissaBits) - 1;
  // Unsigned, as the bits of a NaN overflow.
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Vec<Int<T>> shifted =
      bits_as<Vec<Int<T>>>(bits_as<Vec<Bits>>(u) + splat(static_cast<Bits>(kShift)));
  const Vec<Int<T>> exponent = (shifted >> C::kMantissaBits) - splat(Int<T>{C::kExponentBias});
  const Vec<T> one = splat(T{1});
  const Vec<Int<T>> mantissa = (shifted & splat(kMantissa)) + (int_bits<T>(one) - splat(kShift));
  const Vec<T> f = float_of_bits<T>(mantissa) - one;
  const Vec<T> e = __builtin_convertvector(exponent, Vec<T>) + scale;
  const Vec<T> s = f / (splat(T{2}) + f);
  const Vec<T> z = s * s;
  const Vec<T> half_square = splat(T{0.5}) * f * f;
  const Vec<T> tail = z * polynomial<T>(z, C::kLog);
  const Vec<T> low = fma(s, half_square + tail, fma(e, splat(C::kLog2Low), correction));
  return fma(e, splat(C::kLog2High), f - (half_square - low));
}

template <typename T>
QANAT_INLINE Vec<T> log_of_special(Vec<T> u, Vec<T> y) {
  using C = MathConstants<T>;
  const Vec<T> infinity = splat(C::kInfinity);
  y = select<Vec<T>>(u == Vec<T>{}, -infinity, y);
  y = select<Vec<T>>(u < Vec<T>{}, infinity - infinity, y);
  return select<Vec<T>>(u < infinity, y, select<Vec<T>>(u == infinity, infinity, u));
}

template <typename T>
QANAT_INLINE Vec<T> log(Vec<T> x) {
  using C = MathConstants<T>;
  // What is subnormal is scaled up first.
  constexpr T kUp = static_cast<T>(Int<T>{1} << (C::kMantissaBits + 1));
  const auto subnormal = x < splat(C::kSmallestNormal);
  const Vec<T> u = select<Vec<T>>(subnormal, x * splat(kUp), x);
  const Vec<T> scale =
      select<Vec<T>>(subnormal, splat(static_cast<T>(-C::kMantissaBits - 1)), Vec<T>{});
  return log_of_special<T>(x, log_of_normal<T>(u, scale, Vec<T>{}));
}

// log(1 + x). What 1 + x lost by rounding is put back as a correction.
template <typename T>
QANAT_INLINE Vec<T> log1p(Vec<T> x) {
  const Vec<T> one = splat(T{1});
  const Vec<T> u = one + x;
  const Vec<T> lost = select<Vec<T>>(u < splat(T{2}), x - (u - one), one - (u - x));
  const Vec<T> y = log_of_normal<T>(u, Vec<T>{}, lost / u);
  return select<Vec<T>>(u == one, x, log_of_special<T>(u, y));
}

template <typename T>
QANAT_INLINE Vec<T> tanh(Vec<T> x) {
  using C = MathConstants<T>;
  const Vec<T> one = splat(T{1});
  const Vec<T> magnitude = abs<T>(x);
  const Vec<T> z = x * x;
  const Vec<T> near_0 = fma(x * z, polynomial<T>(z, C::kTanh), x);
  const Vec<T> bounded = min(splat(C::kTanhHigh), magnitude);
  const Vec<T> far = one - splat(T{2}) / (exp<T>(bounded + bounded) + one);
  return select<Vec<T>>(magnitude < splat(T{0.625}), near_0, copy_sign<T>(far, x));
}

// 1 / (1 + exp(-x)), by the exponential that does not overflow.
template <typename T>
QANAT_INLINE Vec<T> sigmoid(Vec<T> x) {
  const Vec<T> one = splat(T{1});
  const Vec<T> e = exp<T>(-abs<T>(x));
  return select<Vec<T>>(x < Vec<T>{}, e, one) / (one + e);
}

template <typename T>
QANAT_INLINE Vec<T> erf(Vec<T> x) {
  using C = MathConstants<T>;
  const Vec<T> one = splat(T{1});
  const Vec<T> magnitude = min(splat(C::kErfHigh), abs<T>(x));
  const Vec<T> z = magnitude * magnitude;
  const Vec<T> near_0 = fma(x, polynomial<T>(z, C::kErf), x);
  const Vec<T> at = max(one, magnitude);
  const Vec<T> erfc = exp<T>(-at * at) * polynomial<T>(one / (at + splat(C::kErfcShift)), C::kErfc);
  return select<Vec<T>>(magnitude < one, near_0, copy_sign<T>(one - erfc, x));
}

// x = quadrant * pi / 2 + rest with |rest| <= pi / 4, for |x| <= kReducible. In double for floats
// too: near the multiples of pi all of a float's digits would cancel.
template <typename T>
struct Quadrants {
  Vec<Int<T>> quadrant;
  Vec<T> rest;
};

inline constexpr double kReducible = 5e5;

template <typename T>
QANAT_INLINE Quadrants<T> quadrants(Vec<T> x) {
  typedef double Wide __attribute__((vector_size(kLanes<T> * sizeof(double))));
  constexpr double kRounder = MathConstants<double>::kRounder;
  // The first two end in zeros, so that integers below 2^19 multiply them exactly.
  constexpr double kHalfPi[] = {1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21};
  const Wide wide = __builtin_convertvector(x, Wide);
  const Wide shifted = wide * 0.63661977236758134 + kRounder;
  const Wide n = shifted - kRounder;
  const Wide rest = ((wide - n * kHalfPi[0]) - n * kHalfPi[1]) - n * kHalfPi[2];
  if constexpr (sizeof(T) == sizeof(double)) {
    return {int_bits<T>(shifted) - int_bits<T>(splat(kRounder)), rest};
  } else {
    return {__builtin_convertvector(n, Vec<Int<T>>), __builtin_convertvector(rest, Vec<T>)};
  }
}

// sin(x + quarters * pi / 2), by the C library in the lanes where |x| is too large for quadrants().
template <typename T, typename Scalar>
QANAT_INLINE Vec<T> sin_shifted(Vec<T> x, Int<T> quarters, Scalar scalar) {
  using C = MathConstants<T>;
  const auto reducible = abs<T>(x) <= splat(static_cast<T>(kReducible));
  const Quadrants<T> parts = quadrants<T>(select<Vec<T>>(reducible, x, Vec<T>{}));
  const Vec<T> z = parts.rest * parts.rest;
  const Vec<T> sine = fma(parts.rest * z, polynomial<T>(z, C::kSin), parts.rest);
  const Vec<T> cosine = splat(T{1}) - (splat(T{0.5}) * z - z * z * polynomial<T>(z, C::kCos));
  const Vec<Int<T>> one = splat(Int<T>{1});
  const Vec<Int<T>> quadrant = parts.quadrant + splat(quarters);
  const Vec<T> magnitude = select<Vec<T>>((quadrant & one) != Vec<Int<T>>{}, cosine, sine);
  const Vec<Int<T>> sign = (quadrant >> 1 & one) << (8 * sizeof(T) - 1);
  Vec<T> y = float_of_bits<T>(int_bits<T>(magnitude) ^ sign);
  if (any<T>(~reducible)) {
    for (int i = 0; i < kLanes<T>; ++i) {
      if (!reducible[i]) y[i] = scalar(x[i]);
    }
  }
  return y;
}

QANAT_INLINE Vec<float> sin(Vec<float> x) {
  const Vec<float> y = sin_shifted<float>(x, 0, [](float v) { return __builtin_sinf(v); });
  return select<Vec<float>>(x == Vec<float>{}, x, y);
}
QANAT_INLINE Vec<double> sin(Vec<double> x) {
  const Vec<double> y = sin_shifted<double>(x, 0, [](double v) { return __builtin_sin(v); });
  return select<Vec<double>>(x == Vec<double>{}, x, y);
}
QANAT_INLINE Vec<float> cos(Vec<float> x) {
  return sin_shifted<float>(x, 1, [](float v) { return __builtin_cosf(v); });
}
QANAT_INLINE Vec<double> cos(Vec<double> x) {
  return sin_shifted<double>(x, 1, [](double v) { return __builtin_cos(v); });
}

}  // namespace qanat::simd::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_MATH_H_
