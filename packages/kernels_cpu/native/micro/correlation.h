// The sums that a convolution and its input gradient have in common.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_CORRELATION_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_CORRELATION_H_

#include <cstddef>
#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"

namespace qanat::micro {

// One spatial axis: tap t of destination pixel p reads source pixel
// p * source_step + first_tap + t * tap_step, or 0 where that lies outside [0, source_size).
struct CorrelationAxis {
  int64_t source_size;
  int64_t count;  // of destination pixels
  int64_t source_step;
  int64_t taps;
  int64_t first_tap;
  int64_t tap_step;  // at least 1

  // Where tap 0 of a pixel lies.
  QANAT_BLOCKS_INLINE int64_t origin(int64_t pixel) const {
    return pixel * source_step + first_tap;
  }

  // The taps of a pixel that lie inside the source; begin <= end.
  QANAT_BLOCKS_INLINE Range valid_taps(int64_t pixel) const {
    const int64_t at = origin(pixel);
    const int64_t end = at >= source_size ? 0 : ceil_div(source_size - at, tap_step);
    const int64_t begin = at >= 0 ? 0 : ceil_div(-at, tap_step);
    const int64_t valid_end = min64(end, taps);
    return {min64(begin, valid_end), valid_end};
  }
};

// destination[n, y, x, o] = sum over taps h, w and channels i of
//     source[n, tap h of y, tap w of x, i] * weights[h, w, i, o]
// + bias, then relu.
template <typename T>
struct Correlation {
  int64_t batch;
  CorrelationAxis h;
  CorrelationAxis w;
  int64_t source_channels;
  int64_t channels;  // of the destination
  const T* source;   // [batch, h.source_size, w.source_size, source_channels]
  const T*
      weights;     // packed: for each tile_cols channels, [h.taps, w.taps, source_channels, width]
  T* destination;  // of pixel 0, 0 of image 0
  int64_t image_stride;  // of the destination
  int64_t row_stride;
  int64_t pixel_stride;
  const T* bias;  // null for none
  bool relu;
};

template <typename T>
struct CorrelationKernels {
  int tile_rows;
  int tile_cols;

  // Packs the weights of the tile_cols channels (or fewer, in the last panel) from `channel` on,
  // for steps of the sum that lie step_stride apart in `from`, which points at the first step of
  // channel 0. Returns the end of what it wrote.
  T* (*pack_weights)(const T* from, int64_t steps, int64_t step_stride, int64_t channel_stride,
                     int64_t channel, int64_t channels, T* to);

  // The work is divided into row_count rows; so many of them at a time need scratch_bytes.
  void (*rows)(const Correlation<T>& correlation, Range rows, void* scratch);
  int64_t (*row_count)(const Correlation<T>& correlation);
  size_t (*scratch_bytes)(const Correlation<T>& correlation, int64_t rows);
};

struct CorrelationTable {
  CorrelationKernels<float> f32;
  CorrelationKernels<double> f64;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_CORRELATION_H_
