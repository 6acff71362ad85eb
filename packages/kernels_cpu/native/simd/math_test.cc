#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"
#include "packages/kernels_cpu/native/simd/each_level.h"
#include "packages/kernels_cpu/native/simd/math_table.h"

namespace qanat::simd {

QANAT_SIMD_DECLARE(MathTable, math_table)

namespace {

// 32-bit ARM's vector unit takes subnormal numbers for 0.
#if defined(__arm__)
constexpr bool kSubnormals = false;
#else
constexpr bool kSubnormals = true;
#endif

// Elsewhere than on x86 the C library may compute a long double's functions as a double's: what is
// taken for exact is then off by one unit of a double.
#if defined(__x86_64__)
constexpr double kInexactDouble = 0;
#else
constexpr double kInexactDouble = 1;
#endif

template <typename T>
bool is_subnormal(T x) {
  return x != 0 && std::abs(x) < std::numeric_limits<T>::min();
}

// The distance from the exact value, in units of the last place of a T there.
template <typename T>
double error_in_ulp(T actual, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(actual)) {
    return std::isnan(rounded) && std::isnan(actual) ? 0 : INFINITY;
  }
  if (actual == rounded)
    return actual != 0 || std::signbit(actual) == std::signbit(rounded) ? 0 : 1;
  if (std::isinf(actual) != std::isinf(rounded)) {
    const T largest = std::numeric_limits<T>::max();
    return std::abs(actual) == largest || std::abs(rounded) == largest ? 1 : INFINITY;
  }
  // Terms of a sum may be subnormal where the sum is not.
  if (!kSubnormals && std::abs(rounded) < 16 * std::numeric_limits<T>::min()) {
    return std::abs(actual) < 32 * std::numeric_limits<T>::min() ? 0 : INFINITY;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  const int last = std::max(exponent - std::numeric_limits<T>::digits,
                            std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(actual) - exact) /
                             std::ldexp(1.0L, last));
}

template <typename T>
std::vector<T> arguments(T low, T high) {
  std::mt19937_64 engine(7);
  std::vector<T> x = {0, -T{0}, 1, -1, T{0.5}, T{-0.5}, T{0.625}, 2, T{0.7071067811865476}};
  for (T special : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(),
                    std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                    std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::epsilon()}) {
    x.push_back(special);
    x.push_back(-special);
  }
  std::uniform_real_distribution<T> uniform(low, high);
  for (int i = 0; i < 60001; ++i) x.push_back(uniform(engine));
  // All magnitudes alike.
  std::uniform_real_distribution<T> exponent(std::numeric_limits<T>::min_exponent - 20,
                                             std::numeric_limits<T>::max_exponent);
  for (int i = 0; i < 60000; ++i) {
    const T magnitude = std::exp2(exponent(engine));
    x.push_back(i % 2 == 0 ? magnitude : -magnitude);
  }
  return x;
}

template <typename T>
void check(const char* name, typename MathFunctions<T>::Function function,
           long double (*exact)(long double), T low, T high, double bound) {
  const std::vector<T> x = arguments(low, high);
  std::vector<T> y = x;
  function(y.data(), static_cast<int64_t>(y.size()));
  double worst = 0;
  T worst_at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!kSubnormals && is_subnormal(x[i])) continue;
    const double error = error_in_ulp(y[i], exact(x[i]));
    if (error > worst) {
      worst = error;
      worst_at = x[i];
    }
  }
  std::printf("  %-7s %s: %.3f ulp at %.17g\n", name, sizeof(T) == 4 ? "float " : "double", worst,
              static_cast<double>(worst_at));
  CHECK(worst <= bound + (sizeof(T) == sizeof(double) ? kInexactDouble : 0));
}

long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double rsqrt(long double x) { return 1 / std::sqrt(x); }

template <typename T>
void check_all(const MathFunctions<T>& f) {
  check<T>("exp", f.exp, std::exp, -110, 90, 1.25);
  check<T>("expm1", f.expm1, std::expm1, -20, 90, 2);
  check<T>("log", f.log, std::log, 0, 4, 1);
  check<T>("log1p", f.log1p, std::log1p, -1, 4, 1.5);
  check<T>("tanh", f.tanh, std::tanh, -10, 10, 2);
  check<T>("sigmoid", f.sigmoid, sigmoid, -100, 40, 2.5);
  check<T>("erf", f.erf, std::erf, -6, 6, 2);
  check<T>("sin", f.sin, std::sin, -1000, 1000, 1.6);
  check<T>("cos", f.cos, std::cos, -1000, 1000, 1.6);
  check<T>("sqrt", f.sqrt, std::sqrt, 0, 1000, 0.51);
  check<T>("rsqrt", f.rsqrt, rsqrt, 0, 1000, 1.6);
}

TEST(functions_are_accurate_for_all_arguments) {
  for_each_level([] {
    check_all(QANAT_SIMD_SELECT(math_table).f32);
    check_all(QANAT_SIMD_SELECT(math_table).f64);
  });
}

}  // namespace
}  // namespace qanat::simd
