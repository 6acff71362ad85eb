// What of Winograd's convolution is compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_TABLE_H_

#include <cstddef>
#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"
#include "packages/kernels_cpu/native/micro/correlation.h"

namespace qanat::micro {

inline constexpr int kWinogradSize = 6;  // of a tile of the source, in either direction
inline constexpr int kWinogradPoints = kWinogradSize * kWinogradSize;

// The results of a convolution in tiles of size x size pixels: tile i of an image begins at pixel
// (i / cols * size, i % cols * size). Those at the end may reach past the map.
struct TileGrid {
  int64_t size;
  int64_t rows;
  int64_t cols;

  QANAT_BLOCKS_INLINE TileGrid(int64_t height, int64_t width, int64_t taps)
      : size(kWinogradSize + 1 - taps), rows(ceil_div(height, size)), cols(ceil_div(width, size)) {}

  QANAT_BLOCKS_INLINE int64_t tiles_an_image() const { return rows * cols; }
};

struct WinogradCorrelationKernels {
  int tile_rows;  // tiles are best done in multiples of this
  int tile_cols;
  int lanes;  // of a vector: rows of weights are padded to so many

  // The weights of a panel of channels at each point: from [taps, taps, size] to [points, size].
  void (*transform_weights)(int64_t taps, const float* from, int64_t size, float* to);

  // The results in these tiles, tiles_at_a_time at most. c.weights are transformed.
  void (*run)(const Correlation<float>& c, Range tiles, void* scratch);
  int64_t (*tiles_at_a_time)(const Correlation<float>& c);
  size_t (*scratch_bytes)(const Correlation<float>& c);
};

// A part of a filter gradient: that of some channels.
struct WinogradFilterGradient {
  Conv2dShape shape;
  const float* input;
  const float* d_output;
  Range in_channels;
  Range out_channels;
};

struct WinogradFilterGradientKernels {
  // Overwrites those channels of d_filter [taps, taps, shape.in_channels, shape.out_channels] with
  // what these tiles contribute.
  void (*run)(const WinogradFilterGradient& gradient, Range tiles, float* d_filter, void* scratch);
  size_t (*scratch_bytes)(int64_t in_channels, int64_t out_channels);
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_TABLE_H_
