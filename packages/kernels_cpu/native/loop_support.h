// What binary_simd.cc and unary_simd.cc share. Included only by files that are compiled once per
// instruction set, so everything here is inlined or lies in QANAT_SIMD_NS (see simd/dispatch.h).
#ifndef PACKAGES_KERNELS_CPU_NATIVE_LOOP_SUPPORT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_LOOP_SUPPORT_H_

#include <cstdint>
#include <type_traits>

#include "packages/kernels_cpu/native/elementwise_loops.h"
#include "packages/kernels_cpu/native/simd/vec.h"

// No iteration reads what another one writes: the output is an input or overlaps none.
#if defined(__clang__)
#define QANAT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define QANAT_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace qanat::kernels_cpu::QANAT_SIMD_NS {

template <typename T>
inline constexpr bool is_float = std::is_floating_point_v<T>;
template <typename T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <typename T>
inline constexpr bool is_number = is_float<T> || is_integer<T>;

// Arithmetic that wraps is done in an unsigned type that nothing promotes.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// The C library's functions under one name for float and double.
#define QANAT_C_MATH(name)                                                \
  QANAT_INLINE float c_##name(float x) { return __builtin_##name##f(x); } \
  QANAT_INLINE double c_##name(double x) { return __builtin_##name(x); }
QANAT_C_MATH(exp)
QANAT_C_MATH(sqrt)
QANAT_C_MATH(cbrt)
QANAT_C_MATH(tan)
QANAT_C_MATH(asin)
QANAT_C_MATH(acos)
QANAT_C_MATH(atan)
QANAT_C_MATH(sinh)
QANAT_C_MATH(cosh)
QANAT_C_MATH(erfc)
QANAT_C_MATH(floor)
QANAT_C_MATH(ceil)
QANAT_C_MATH(rint)
QANAT_C_MATH(fabs)
#undef QANAT_C_MATH
#define QANAT_C_MATH2(name)                                                           \
  QANAT_INLINE float c_##name(float x, float y) { return __builtin_##name##f(x, y); } \
  QANAT_INLINE double c_##name(double x, double y) { return __builtin_##name(x, y); }
QANAT_C_MATH2(pow)
QANAT_C_MATH2(fmod)
QANAT_C_MATH2(atan2)
QANAT_C_MATH2(copysign)
#undef QANAT_C_MATH2

inline constexpr double kSeluScale = 1.0507009873554805;
inline constexpr double kSeluScaleAlpha = 1.7580993408473766;

// Finder::find<T>() for the T of dtype; a null Found for the dtypes that have no loops.
template <typename Finder, typename Found>
Found find_by_dtype(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return Finder::template find<float>();
    case DType::kFloat64:
      return Finder::template find<double>();
    case DType::kInt8:
      return Finder::template find<int8_t>();
    case DType::kInt16:
      return Finder::template find<int16_t>();
    case DType::kInt32:
      return Finder::template find<int32_t>();
    case DType::kInt64:
      return Finder::template find<int64_t>();
    case DType::kUInt8:
      return Finder::template find<uint8_t>();
    case DType::kUInt16:
      return Finder::template find<uint16_t>();
    case DType::kUInt32:
      return Finder::template find<uint32_t>();
    case DType::kUInt64:
      return Finder::template find<uint64_t>();
    case DType::kBool:
      return Finder::template find<bool>();
    default:
      return {};
  }
}

}  // namespace qanat::kernels_cpu::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_LOOP_SUPPORT_H_
