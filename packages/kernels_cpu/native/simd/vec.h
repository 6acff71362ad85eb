// The vector of the instruction set that this file is compiled for.
//
// Everything is written with the compilers' vector extensions: +, -, *, /, comparisons and
// bitwise operators work on Vec<T> lane by lane, so that one source serves SSE2, AVX2, AVX-512 and
// NEON. Included only by files that are compiled once per instruction set (see dispatch.h).
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_VEC_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_VEC_H_

#include <cstddef>
#include <cstdint>

#ifndef QANAT_SIMD_NS
#error "QANAT_SIMD_NS is not defined: compile this file by the rule qanat_simd_library"
#endif

#define QANAT_INLINE inline __attribute__((always_inline))

namespace qanat::simd::QANAT_SIMD_NS {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct VecTypes {
  typedef T Value __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
};

template <typename T>
using Vec = typename VecTypes<T>::Value;

template <typename T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// The signed integer as wide as T: comparing two Vec<T> gives a Mask<T> of such, 0 or -1 a lane.
template <typename T>
struct IntOf;
template <>
struct IntOf<float> {
  using type = int32_t;
};
template <>
struct IntOf<double> {
  using type = int64_t;
};
template <>
struct IntOf<int32_t> {
  using type = int32_t;
};
template <>
struct IntOf<int64_t> {
  using type = int64_t;
};

template <typename T>
using Int = typename IntOf<T>::type;
template <typename T>
using Mask = decltype(Vec<T>{} < Vec<T>{});

// Memory needs no alignment beyond that of T.
template <typename T>
QANAT_INLINE Vec<T> load(const T* from) {
  return *reinterpret_cast<const typename VecTypes<T>::Unaligned*>(from);
}

template <typename T>
QANAT_INLINE void store(T* to, Vec<T> value) {
  *reinterpret_cast<typename VecTypes<T>::Unaligned*>(to) = value;
}

// The first `count` lanes, 0 <= count <= kLanes<T>; the others are `rest`, and no memory past the
// count is touched.
template <typename T>
QANAT_INLINE Vec<T> load_some(const T* from, int64_t count, T rest = T{}) {
  T lanes[kLanes<T>];
  for (int i = 0; i < kLanes<T>; ++i) lanes[i] = i < count ? from[i] : rest;
  return load(lanes);
}

template <typename T>
QANAT_INLINE void store_some(T* to, Vec<T> value, int64_t count) {
  T lanes[kLanes<T>];
  store(lanes, value);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

// Not T{} + value: that would turn -0 into +0.
template <typename T>
QANAT_INLINE Vec<T> splat(T value) {
  return value - Vec<T>{};
}

// For loops that treat whole vectors and the rest alike.
template <bool kWhole, typename T>
QANAT_INLINE Vec<T> load_lanes(const T* from, int64_t count, T rest = T{}) {
  if constexpr (kWhole) {
    return load(from);
  } else {
    return load_some(from, count, rest);
  }
}

template <bool kWhole, typename T>
QANAT_INLINE void store_lanes(T* to, Vec<T> value, int64_t count) {
  if constexpr (kWhole) {
    store(to, value);
  } else {
    store_some(to, value, count);
  }
}

// The same bits, read as another vector.
template <typename To, typename From>
QANAT_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return reinterpret_cast<To>(from);
}

template <typename V>
QANAT_INLINE V select(decltype(V{} < V{}) mask, V if_true, V if_false) {
  return mask ? if_true : if_false;
}

// a * b + c, rounded once where the instruction set has a fused multiply-add.
template <typename V>
QANAT_INLINE V fma(V a, V b, V c) {
  return a * b + c;
}

// Where a lane of either is NaN the result is b's lane, as x86 has it: put the value that may be
// NaN, and that shall survive, second.
template <typename V>
QANAT_INLINE V min(V a, V b) {
  return a < b ? a : b;
}

template <typename V>
QANAT_INLINE V max(V a, V b) {
  return a > b ? a : b;
}

// The lanes folded pairwise, in a fixed order: op takes and returns a T.
template <typename T, typename Op>
QANAT_INLINE T fold(Vec<T> value, Op op) {
  T lanes[kLanes<T>];
  store(lanes, value);
  for (int half = kLanes<T> / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] = op(lanes[i], lanes[i + half]);
  }
  return lanes[0];
}

template <typename T>
QANAT_INLINE T sum(Vec<T> value) {
  return fold<T>(value, [](T a, T b) { return a + b; });
}

template <typename T>
QANAT_INLINE bool any(Mask<T> mask) {
  Int<T> found = 0;
  for (int i = 0; i < kLanes<T>; ++i) found |= mask[i];
  return found != 0;
}

}  // namespace qanat::simd::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_VEC_H_
