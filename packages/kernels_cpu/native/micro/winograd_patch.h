// Patches of maps, transformed to their values at the points.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_PATCH_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_PATCH_H_

#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/winograd_axes.h"
#include "packages/kernels_cpu/native/micro/winograd_table.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

// For each point a matrix of some rows and columns in scratch. The columns are padded to whole
// vectors, and the matrices lie an odd number of cache lines apart, so that the rows of the same
// index in all of them do not meet in a few sets of the cache.
struct PointMatrices {
  constexpr PointMatrices(int64_t rows, int64_t cols)
      : width(round_up(cols, kLanes<float>)), stride((rows * width + 15) / 32 * 32 + 16) {}

  constexpr int64_t size() const { return kWinogradPoints * stride; }

  int64_t width;
  int64_t stride;
};

// Some channels of a map [height, width, channels] of one image.
struct MapView {
  const float* data;  // of the first of those channels
  int64_t height;
  int64_t width;
  int64_t pixel_stride;
  int64_t channels;
};

// The size x size patch whose first pixel is (y, x), for each of the map's channels, transformed by
// Axis into `to`. A pixel outside the map reads `zeros`, one for each channel.
template <typename Axis>
class Patch {
 public:
  Patch(const MapView& map, int64_t y, int64_t x, const float* zeros) : channels_(map.channels) {
    for (int i = 0; i < kSize; ++i) {
      for (int j = 0; j < kSize; ++j) {
        const int64_t row = y + i, col = x + j;
        const bool inside = row >= 0 && row < map.height && col >= 0 && col < map.width;
        pixels_[i][j] = inside ? map.data + (row * map.width + col) * map.pixel_stride : zeros;
      }
    }
  }

  void transform(float* to, int64_t point_stride) const {
    int64_t c = 0;
    for (; c + kLanes<float> <= channels_; c += kLanes<float>) {
      transform_lanes<true>(c, to + c, point_stride);
    }
    if (c < channels_) transform_lanes<false>(c, to + c, point_stride);
  }

 private:
  static constexpr int kSize = Axis::kIn;

  // Whole vectors are stored: beyond the channels they hold zeros.
  template <bool kWhole>
  QANAT_INLINE void transform_lanes(int64_t c, float* to, int64_t point_stride) const {
    transform_square<Axis>(
        [&](int row, int col) { return load_lanes<kWhole>(pixels_[row][col] + c, channels_ - c); },
        [&](int row, int col, FloatVec value) {
          store(to + (row * kWinogradSize + col) * point_stride, value);
        });
  }

  const int64_t channels_;
  const float* pixels_[kSize][kSize];
};

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_PATCH_H_
