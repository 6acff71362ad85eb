#include "packages/kernels_cpu/native/simd/math.h"
#include "packages/kernels_cpu/native/simd/math_table.h"

namespace qanat::simd::QANAT_SIMD_NS {
namespace {

template <typename T, typename F>
QANAT_INLINE void apply(T* x, int64_t count, F f) {
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) store(x + i, f(load(x + i)));
  if (i < count) store_some(x + i, f(load_some(x + i, count - i)), count - i);
}

template <typename T>
constexpr MathFunctions<T> functions() {
  using V = Vec<T>;
  return {[](T* x, int64_t n) { apply(x, n, [](V v) { return exp<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return expm1<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return log<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return log1p<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return tanh<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return sigmoid<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return erf<T>(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return sin(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return cos(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return sqrt(v); }); },
          [](T* x, int64_t n) { apply(x, n, [](V v) { return rsqrt<T>(v); }); }};
}

}  // namespace

extern const MathTable math_table;
const MathTable math_table = {functions<float>(), functions<double>()};

}  // namespace qanat::simd::QANAT_SIMD_NS
