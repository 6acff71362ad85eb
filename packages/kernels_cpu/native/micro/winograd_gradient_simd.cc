// Filter gradients by Winograd's method.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/panel_product.h"
#include "packages/kernels_cpu/native/micro/winograd_axes.h"
#include "packages/kernels_cpu/native/micro/winograd_patch.h"
#include "packages/kernels_cpu/native/micro/winograd_table.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// Steps of the sums at each point that are done at a time.
constexpr int64_t kTilesAtATime = 32;

template <int kTaps>
class Adder {
 public:
  static constexpr int kSize = kWinogradSize + 1 - kTaps;

  Adder(const WinogradFilterGradient& gradient, void* scratch)
      : g_(gradient),
        s_(gradient.shape),
        grid_(s_.out_height, s_.out_width, kTaps),
        in_(kTilesAtATime, g_.in_channels.size()),
        out_(kTilesAtATime, g_.out_channels.size()),
        sums_(g_.in_channels.size(), g_.out_channels.size()),
        zeros_(static_cast<float*>(scratch)),
        in_values_(zeros_ + max64(in_.width, out_.width)),
        out_values_(in_values_ + in_.size()),
        sum_values_(out_values_ + out_.size()) {}

  void run(Range tiles, float* d_filter) {
    for (int64_t c = 0; c < max64(in_.width, out_.width); ++c) zeros_[c] = 0;
    for (int64_t i = 0; i < sums_.size(); ++i) sum_values_[i] = 0;
    const int64_t blocks = ceil_div(tiles.size(), kTilesAtATime);
    for (int64_t i = 0; i < blocks; ++i) {
      const Range part = part_of(tiles.size(), blocks, i);
      for (int64_t t = 0; t < part.size(); ++t) read_tile(tiles.begin + part.begin + t, t);
      for (int64_t point = 0; point < kWinogradPoints; ++point) multiply(point, part.size());
    }
    for (int64_t i = 0; i < g_.in_channels.size(); ++i) write_taps(i, d_filter);
  }

 private:
  void read_tile(int64_t tile, int64_t t) {
    const int64_t image = tile / grid_.tiles_an_image();
    const int64_t in_image = tile % grid_.tiles_an_image();
    const int64_t y = in_image / grid_.cols * kSize;
    const int64_t x = in_image % grid_.cols * kSize;
    const MapView input = {
        g_.input + image * s_.in_height * s_.in_width * s_.in_channels + g_.in_channels.begin,
        s_.in_height, s_.in_width, s_.in_channels, g_.in_channels.size()};
    Patch<Interpolate>(input, y - s_.pad_top, x - s_.pad_left, zeros_)
        .transform(in_values_ + t * in_.width, in_.stride);
    const MapView d_output = {g_.d_output + image * s_.out_height * s_.out_width * s_.out_channels +
                                  g_.out_channels.begin,
                              s_.out_height, s_.out_width, s_.out_channels, g_.out_channels.size()};
    Patch<Evaluate<kSize>>(d_output, y, x, zeros_)
        .transform(out_values_ + t * out_.width, out_.stride);
  }

  void multiply(int64_t point, int64_t tiles) {
    for (int64_t col = 0; col < sums_.width; col += kTileCols<float>) {
      const int cols = static_cast<int>(min64(kTileCols<float>, sums_.width - col));
      multiply_panel<true>({g_.in_channels.size(), tiles, cols, in_values_ + point * in_.stride,
                            in_.width, out_values_ + point * out_.stride + col, out_.width,
                            sum_values_ + point * sums_.stride + col, sums_.width, true});
    }
  }

  // Of one input channel.
  void write_taps(int64_t channel, float* d_filter) const {
    const int64_t size = s_.in_channels * s_.out_channels;
    float* to =
        d_filter + (g_.in_channels.begin + channel) * s_.out_channels + g_.out_channels.begin;
    for (int64_t col = 0; col < g_.out_channels.size(); col += kLanes<float>) {
      const float* from = sum_values_ + channel * sums_.width + col;
      const int64_t lanes = min64(kLanes<float>, g_.out_channels.size() - col);
      transform_square<ScaleThen<EvaluateTransposed<kTaps>>>(
          [&](int i, int j) { return load(from + (i * kWinogradSize + j) * sums_.stride); },
          [&](int i, int j, FloatVec value) {
            store_some(to + (i * kTaps + j) * size + col, value, lanes);
          });
    }
  }

  const WinogradFilterGradient& g_;
  const Conv2dShape& s_;
  const TileGrid grid_;
  const PointMatrices in_;
  const PointMatrices out_;
  const PointMatrices sums_;
  float* const zeros_;
  float* const in_values_;
  float* const out_values_;
  float* const sum_values_;
};

void run(const WinogradFilterGradient& gradient, Range tiles, float* d_filter, void* scratch) {
  if (gradient.shape.filter_height == 5) {
    Adder<5>(gradient, scratch).run(tiles, d_filter);
  } else {
    Adder<3>(gradient, scratch).run(tiles, d_filter);
  }
}

size_t scratch_bytes(int64_t in_channels, int64_t out_channels) {
  const PointMatrices in(kTilesAtATime, in_channels);
  const PointMatrices out(kTilesAtATime, out_channels);
  const PointMatrices sums(in_channels, out_channels);
  return static_cast<size_t>(max64(in.width, out.width) + in.size() + out.size() + sums.size()) *
         sizeof(float);
}

}  // namespace

extern const WinogradFilterGradientKernels winograd_filter_gradient_kernels;
const WinogradFilterGradientKernels winograd_filter_gradient_kernels = {run, scratch_bytes};

}  // namespace qanat::micro::QANAT_SIMD_NS
