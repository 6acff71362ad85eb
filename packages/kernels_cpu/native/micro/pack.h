// Copies parts of matrices into the order in which register tiles read them.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_PACK_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_PACK_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

// The lanes of a and b in turn: those of the lower halves, or of the upper halves.
template <typename T, int kHalf, size_t... I>
QANAT_INLINE Vec<T> interleave(Vec<T> a, Vec<T> b, std::index_sequence<I...>) {
  constexpr size_t kN = sizeof...(I);
  return __builtin_shufflevector(a, b, (I / 2 + kHalf * kN / 2 + I % 2 * kN)...);
}

// Transposes the square matrix whose rows are the vectors.
template <typename T>
QANAT_INLINE void transpose_square(Vec<T> (&rows)[kLanes<T>]) {
  constexpr int kN = kLanes<T>;
  constexpr auto kIndices = std::make_index_sequence<kN>{};
#pragma GCC unroll 4
  for (int stage = 1; stage < kN; stage *= 2) {
    Vec<T> next[kN];
#pragma GCC unroll 16
    for (int i = 0; i < kN / 2; ++i) {
      next[2 * i] = interleave<T, 0>(rows[i], rows[i + kN / 2], kIndices);
      next[2 * i + 1] = interleave<T, 1>(rows[i], rows[i + kN / 2], kIndices);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kN; ++i) rows[i] = next[i];
  }
}

template <typename T>
QANAT_INLINE void pack_strided(const T* from, int64_t steps, int64_t step_stride, int items,
                               int64_t item_stride, int width, T* to) {
  for (int64_t k = 0; k < steps; ++k) {
    for (int j = 0; j < items; ++j) to[j] = from[j * item_stride];
    for (int j = items; j < width; ++j) to[j] = 0;
    from += step_stride;
    to += width;
  }
}

// Whole vectors of items, each of which has its steps beside each other.
template <typename T>
void pack_transposed(const T* from, int64_t steps, int items, int64_t item_stride, int width,
                     T* to) {
  constexpr int kN = kLanes<T>;
  for (int j = 0; j < items; j += kN) {
    int64_t k = 0;
    for (; k + kN <= steps; k += kN) {
      Vec<T> square[kN];
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) square[i] = load(from + (j + i) * item_stride + k);
      transpose_square<T>(square);
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) store(to + (k + i) * width + j, square[i]);
    }
    for (; k < steps; ++k) {
      for (int i = j; i < j + kN; ++i) to[k * width + i] = from[i * item_stride + k];
    }
  }
}

// to[step * width + item] = from[step * step_stride + item * item_stride], and 0 where
// items <= item < width.
template <typename T>
void pack_panel(const T* from, int64_t steps, int64_t step_stride, int items, int64_t item_stride,
                int width, T* to) {
  constexpr int kN = kLanes<T>;
  if (item_stride == 1 && items == width && width == kN) {
    for (int64_t k = 0; k < steps; ++k) store(to + k * kN, load(from + k * step_stride));
  } else if (item_stride == 1 && items == width && width == 2 * kN) {
    for (int64_t k = 0; k < steps; ++k) {
      store(to + k * width, load(from + k * step_stride));
      store(to + k * width + kN, load(from + k * step_stride + kN));
    }
  } else if (step_stride == 1 && items == width && width % kN == 0) {
    pack_transposed(from, steps, items, item_stride, width, to);
  } else if (item_stride == 1) {
    pack_strided(from, steps, step_stride, items, 1, width, to);
  } else {
    pack_strided(from, steps, step_stride, items, item_stride, width, to);
  }
}

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_PACK_H_
