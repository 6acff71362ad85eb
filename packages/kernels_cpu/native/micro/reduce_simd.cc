// Reductions, vectorised over the axis inside, or over the reduced one where there is none inside.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/reduce_table.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

namespace {

// A row of so many vectors is folded at a time.
constexpr int kVectors = 4;

// So many rows are folded one after the other; longer columns in halves, so that rounding errors
// of sums grow with the logarithm of the length.
constexpr int64_t kRowsInSequence = 64;

template <typename T>
constexpr T kInfinity = __builtin_inff();
template <>
constexpr int32_t kInfinity<int32_t> = INT32_MAX;
template <>
constexpr int64_t kInfinity<int64_t> = INT64_MAX;
template <typename T>
constexpr T kLowest = -kInfinity<T>;
template <>
constexpr int32_t kLowest<int32_t> = INT32_MIN;
template <>
constexpr int64_t kLowest<int64_t> = INT64_MIN;

template <typename T>
constexpr bool kIsInteger = T{1} / 2 == 0;

// Integers wrap as unsigned ones do.
template <typename T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};

template <typename T>
struct Sum {
  using U = typename Wrapping<T>::type;
  static constexpr T kStart = 0;
  static QANAT_INLINE T apply(T a, T b) {
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
  static QANAT_INLINE Vec<T> apply(Vec<T> a, Vec<T> b) {
    return bits_as<Vec<T>>(bits_as<Vec<U>>(a) + bits_as<Vec<U>>(b));
  }
};

template <typename T>
struct Prod {
  using U = typename Wrapping<T>::type;
  static constexpr T kStart = 1;
  static QANAT_INLINE T apply(T a, T b) {
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
  static QANAT_INLINE Vec<T> apply(Vec<T> a, Vec<T> b) {
    return bits_as<Vec<T>>(bits_as<Vec<U>>(a) * bits_as<Vec<U>>(b));
  }
};

// Of a NaN and something else, the NaN.
template <typename T>
QANAT_INLINE Mask<T> is_nan(Vec<T> x) {
  if constexpr (kIsInteger<T>) {
    return Mask<T>{};
  } else {
    return x != x;
  }
}

template <typename T>
struct Max {
  static constexpr T kStart = kLowest<T>;
  static QANAT_INLINE T apply(T a, T b) { return b > a || b != b ? b : a; }
  static QANAT_INLINE Vec<T> apply(Vec<T> a, Vec<T> b) {
    return select<Vec<T>>((b > a) | is_nan<T>(b), b, a);
  }
};

template <typename T>
struct Min {
  static constexpr T kStart = kInfinity<T>;
  static QANAT_INLINE T apply(T a, T b) { return b < a || b != b ? b : a; }
  static QANAT_INLINE Vec<T> apply(Vec<T> a, Vec<T> b) {
    return select<Vec<T>>((b < a) | is_nan<T>(b), b, a);
  }
};

// Folds `count` rows, `stride` apart, of kCount vectors, or of one vector's first `columns`. The
// result is written and not returned: with a returned vector clang 22 turns the recursion into a
// loop that its own back end refuses.
template <typename T, template <typename> typename Op, int kCount, bool kWhole>
void fold_strip(const T* from, int64_t count, int64_t stride, int64_t columns,
                Vec<T> (&to)[kCount]) {
  if (count <= kRowsInSequence) {
    Vec<T> folded[kCount];
    for (int v = 0; v < kCount; ++v) folded[v] = splat(Op<T>::kStart);
    for (int64_t r = 0; r < count; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kCount; ++v) {
        const T* at = from + r * stride + v * kLanes<T>;
        folded[v] = Op<T>::apply(folded[v], load_lanes<kWhole>(at, columns));
      }
    }
    for (int v = 0; v < kCount; ++v) to[v] = folded[v];
    return;
  }
  const int64_t half = round_up(count / 2, kRowsInSequence);
  Vec<T> rest[kCount];
  fold_strip<T, Op, kCount, kWhole>(from, half, stride, columns, to);
  fold_strip<T, Op, kCount, kWhole>(from + half * stride, count - half, stride, columns, rest);
  for (int v = 0; v < kCount; ++v) to[v] = Op<T>::apply(to[v], rest[v]);
}

// One run of adjacent values: as rows of a strip, then of one vector, then the rest.
template <typename T, template <typename> typename Op>
T fold_run(const T* from, int64_t count) {
  constexpr int64_t kWidth = kVectors * kLanes<T>;
  const int64_t strips = count / kWidth;
  Vec<T> folded = splat(Op<T>::kStart);
  if (strips > 0) {
    Vec<T> strip[kVectors];
    fold_strip<T, Op, kVectors, true>(from, strips, kWidth, kLanes<T>, strip);
    folded = Op<T>::apply(Op<T>::apply(strip[0], strip[1]), Op<T>::apply(strip[2], strip[3]));
  }
  int64_t i = strips * kWidth;
  for (; i + kLanes<T> <= count; i += kLanes<T>) folded = Op<T>::apply(folded, load(from + i));
  if (i < count) folded = Op<T>::apply(folded, load_some(from + i, count - i, Op<T>::kStart));
  return fold<T>(folded, [](T a, T b) { return Op<T>::apply(a, b); });
}

template <typename T, template <typename> typename Op>
void fold_rows(const T* from, int64_t count, int64_t stride, int64_t columns, T* to) {
  if (columns == 1 && stride == 1) {
    to[0] = fold_run<T, Op>(from, count);
    return;
  }
  constexpr int64_t kWidth = kVectors * kLanes<T>;
  int64_t i = 0;
  for (; i + kWidth <= columns; i += kWidth) {
    Vec<T> strip[kVectors];
    fold_strip<T, Op, kVectors, true>(from + i, count, stride, kLanes<T>, strip);
    for (int v = 0; v < kVectors; ++v) store(to + i + v * kLanes<T>, strip[v]);
  }
  for (; i + kLanes<T> <= columns; i += kLanes<T>) {
    Vec<T> one[1];
    fold_strip<T, Op, 1, true>(from + i, count, stride, kLanes<T>, one);
    store(to + i, one[0]);
  }
  if (i < columns) {
    Vec<T> one[1];
    fold_strip<T, Op, 1, false>(from + i, count, stride, columns - i, one);
    store_some(to + i, one[0], columns - i);
  }
}

template <typename T>
constexpr ReduceKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {fold_rows<T, Sum>, fold_rows<T, Prod>, fold_rows<T, Max>, fold_rows<T, Min>};
}

}  // namespace

extern const ReduceTable reduce_table;
const ReduceTable reduce_table = {kernels<float>(), kernels<double>(), kernels<int32_t>(),
                                  kernels<int64_t>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
