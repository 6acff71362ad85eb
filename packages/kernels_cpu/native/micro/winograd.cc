// Where Winograd's method pays, and how its work is divided among threads.
#include "packages/kernels_cpu/native/micro/winograd.h"

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/partial_sums.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/micro/winograd_table.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(WinogradCorrelationKernels, winograd_correlation_kernels)
QANAT_SIMD_DECLARE(WinogradFilterGradientKernels, winograd_filter_gradient_kernels)

namespace {

// What the transforms take, in multiplications' time: those of a tile for each point and channel,
// and those of the weights (or of their gradient) for each of these.
constexpr double kTransformOfChannel = 8;
constexpr double kTransformOfWeight = 6;

// It shall be faster by more than this estimate can be wrong.
constexpr double kLeastGain = 1.25;

// The channels that a chunk of a filter gradient has: so many that their sums at all points stay
// in the cache while the tiles pass over them.
constexpr int64_t kInChannels = 32;
constexpr int64_t kOutChannels = 64;

// Chunks of a filter gradient. Where channels do not give as many, the tiles are divided too, into
// parts of at least kTilesAPart, whose sums are added in their order.
constexpr int64_t kMostChunks = 8;
constexpr int64_t kTilesAPart = 128;

const WinogradCorrelationKernels& correlation_kernels() {
  return QANAT_SIMD_SELECT(winograd_correlation_kernels);
}

const WinogradFilterGradientKernels& gradient_kernels() {
  return QANAT_SIMD_SELECT(winograd_filter_gradient_kernels);
}

bool pays(int64_t images, int64_t height, int64_t width, int64_t taps, int64_t from_channels,
          int64_t to_channels) {
  if (taps != 3 && taps != 5) return false;
  const TileGrid grid(height, width, taps);
  const auto from = static_cast<double>(from_channels);
  const auto to = static_cast<double>(to_channels);
  const double tiles =
      static_cast<double>(images) * static_cast<double>(grid.rows) * static_cast<double>(grid.cols);
  const double products = from * to;
  const double plain = static_cast<double>(images) * static_cast<double>(height) *
                       static_cast<double>(width) * static_cast<double>(taps * taps) * products;
  const double winograd =
      kWinogradPoints *
      (tiles * (products + kTransformOfChannel * (from + to)) + kTransformOfWeight * products);
  return kLeastGain * winograd < plain;
}

size_t weights_bytes(const Correlation<float>& c) {
  const int64_t channels = round_up(c.channels, correlation_kernels().tile_cols);
  return aligned_bytes(static_cast<size_t>(kWinogradPoints * c.source_channels * channels) *
                       sizeof(float));
}

// A panel is as wide as its channels need, in whole vectors.
void transform_weights(const Correlation<float>& c, float* to, Parallel& parallel) {
  const WinogradCorrelationKernels& kernels = correlation_kernels();
  const int64_t taps = c.h.taps;
  parallel.for_each(ceil_div(c.channels, kernels.tile_cols), [&](int64_t panel) {
    const int64_t channel = panel * kernels.tile_cols;
    const int64_t cols = min64(kernels.tile_cols, c.channels - channel);
    const int64_t width = cols > kernels.lanes ? kernels.tile_cols : kernels.lanes;
    kernels.transform_weights(taps, c.weights + channel * taps * taps * c.source_channels,
                              c.source_channels * width,
                              to + channel * kWinogradPoints * c.source_channels);
  });
}

// How a filter gradient is divided.
struct Grid {
  explicit Grid(const Conv2dShape& s)
      : tiles(s.batch * TileGrid(s.out_height, s.out_width, s.filter_height).tiles_an_image()),
        in_parts(ceil_div(s.in_channels, kInChannels)),
        out_parts(ceil_div(s.out_channels, kOutChannels)),
        tile_parts(max64(1, min64(kMostChunks / (in_parts * out_parts), tiles / kTilesAPart))) {}

  int64_t chunks() const { return tile_parts * in_parts * out_parts; }

  int64_t tiles;
  int64_t in_parts;
  int64_t out_parts;
  int64_t tile_parts;
};

int64_t filter_size(const Conv2dShape& s) {
  return s.filter_height * s.filter_width * s.in_channels * s.out_channels;
}

// With one part of the tiles it writes the result; else each part has a place of its own.
size_t partial_bytes(const Conv2dShape& s, const Grid& grid) {
  if (grid.tile_parts == 1) return 0;
  return aligned_bytes(static_cast<size_t>(grid.tile_parts * filter_size(s)) * sizeof(float));
}

size_t gradient_slot_bytes(const Conv2dShape& s, const Grid& grid) {
  return gradient_kernels().scratch_bytes(ceil_div(s.in_channels, grid.in_parts),
                                          ceil_div(s.out_channels, grid.out_parts));
}

}  // namespace

bool winograd_pays(const Correlation<float>& c) {
  const auto plain = [](const CorrelationAxis& axis) {
    return axis.source_step == 1 && axis.tap_step == 1;
  };
  return plain(c.h) && plain(c.w) && c.h.taps == c.w.taps &&
         pays(c.batch, c.h.count, c.w.count, c.h.taps, c.source_channels, c.channels);
}

bool winograd_pays(const Conv2dShape& s) {
  return s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 && s.dilation_w == 1 &&
         s.filter_height == s.filter_width &&
         pays(s.batch, s.out_height, s.out_width, s.filter_height, s.in_channels, s.out_channels);
}

size_t winograd_scratch_bytes(const Correlation<float>& c, int threads) {
  return weights_bytes(c) + Slots::bytes(correlation_kernels().scratch_bytes(c), threads);
}

void winograd_correlate(const Correlation<float>& c, void* scratch, Parallel& parallel) {
  const WinogradCorrelationKernels& kernels = correlation_kernels();
  transform_weights(c, static_cast<float*>(scratch), parallel);
  Correlation<float> transformed = c;
  transformed.weights = static_cast<const float*>(scratch);
  Slots slots(static_cast<char*>(scratch) + weights_bytes(c), kernels.scratch_bytes(c),
              parallel.threads());
  const int64_t tiles = c.batch * TileGrid(c.h.count, c.w.count, c.h.taps).tiles_an_image();
  const int64_t chunks = ceil_div(tiles, kernels.tiles_at_a_time(c));
  parallel.for_each(chunks, [&](int64_t chunk) {
    const Slot slot(slots);
    kernels.run(transformed, part_of(tiles, chunks, chunk, kernels.tile_rows), slot.get());
  });
}

size_t winograd_filter_gradient_scratch_bytes(const Conv2dShape& shape, int threads) {
  const Grid grid(shape);
  return partial_bytes(shape, grid) + Slots::bytes(gradient_slot_bytes(shape, grid), threads);
}

void winograd_filter_gradient(const Conv2dShape& shape, const float* input, const float* d_output,
                              float* d_filter, void* scratch, Parallel& parallel) {
  const Grid grid(shape);
  float* sums = grid.tile_parts == 1 ? d_filter : static_cast<float*>(scratch);
  Slots slots(static_cast<char*>(scratch) + partial_bytes(shape, grid),
              gradient_slot_bytes(shape, grid), parallel.threads());
  parallel.for_each(grid.chunks(), [&](int64_t chunk) {
    const Slot slot(slots);
    const int64_t tile_part = chunk % grid.tile_parts;
    const int64_t channels = chunk / grid.tile_parts;
    const WinogradFilterGradient part = {
        shape, input, d_output,
        part_of(shape.in_channels, grid.in_parts, channels / grid.out_parts),
        part_of(shape.out_channels, grid.out_parts, channels % grid.out_parts)};
    gradient_kernels().run(part, part_of(grid.tiles, grid.tile_parts, tile_part),
                           sums + tile_part * filter_size(shape), slot.get());
  });
  if (grid.tile_parts > 1) add_parts(sums, grid.tile_parts, filter_size(shape), d_filter, parallel);
}

}  // namespace qanat::micro
