// Tiles of a correlation by Winograd's method.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/panel_product.h"
#include "packages/kernels_cpu/native/micro/winograd_axes.h"
#include "packages/kernels_cpu/native/micro/winograd_patch.h"
#include "packages/kernels_cpu/native/micro/winograd_table.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

constexpr int kPanel = kTileCols<float>;

// The values of so many tiles at the points, and the products for a panel of channels, shall stay
// in the second-level cache; weights are read once for each such block of tiles.
constexpr int64_t kBlockBytes = 256 << 10;
constexpr int64_t kFewestTiles = 2 * kTileRows;
constexpr int64_t kMostTiles = 64 / kTileRows * kTileRows;

template <int kTaps>
class Block {
 public:
  static constexpr int kSize = kWinogradSize + 1 - kTaps;

  Block(const Correlation<float>& correlation, Range tiles, void* scratch)
      : c_(correlation),
        grid_(c_.h.count, c_.w.count, kTaps),
        tiles_(tiles),
        sources_(tiles.size(), c_.source_channels),
        products_(tiles.size(), kPanel),
        zeros_(static_cast<float*>(scratch)),
        source_values_(zeros_ + sources_.width),
        product_values_(source_values_ + sources_.size()) {}

  void run() {
    for (int64_t c = 0; c < sources_.width; ++c) zeros_[c] = 0;
    for (int64_t t = 0; t < tiles_.size(); ++t) read_source(t);
    for (int64_t channel = 0; channel < c_.channels; channel += kPanel) {
      cols_ = static_cast<int>(min64(kPanel, c_.channels - channel));
      const float* weights = c_.weights + channel * kWinogradPoints * c_.source_channels;
      for (int64_t point = 0; point < kWinogradPoints; ++point) {
        multiply(point, weights + point * c_.source_channels * panel_width<float>(cols_));
      }
      for (int64_t t = 0; t < tiles_.size(); ++t) write_results(t, channel);
    }
  }

 private:
  // Where the results of a tile begin.
  struct Place {
    int64_t image, y, x;
  };

  Place place_of(int64_t t) const {
    const int64_t tile = tiles_.begin + t;
    const int64_t in_image = tile % grid_.tiles_an_image();
    return {tile / grid_.tiles_an_image(), in_image / grid_.cols * kSize,
            in_image % grid_.cols * kSize};
  }

  void read_source(int64_t t) {
    const Place at = place_of(t);
    const int64_t image = c_.h.source_size * c_.w.source_size * c_.source_channels;
    const MapView map = {c_.source + at.image * image, c_.h.source_size, c_.w.source_size,
                         c_.source_channels, c_.source_channels};
    Patch<Interpolate>(map, c_.h.origin(at.y), c_.w.origin(at.x), zeros_)
        .transform(source_values_ + t * sources_.width, sources_.stride);
  }

  void multiply(int64_t point, const float* weights) {
    const int width = panel_width<float>(cols_);
    multiply_panel<false>({tiles_.size(), c_.source_channels, width,
                           source_values_ + point * sources_.stride, sources_.width, weights, width,
                           product_values_ + point * products_.stride, products_.width, false});
  }

  void write_results(int64_t t, int64_t channel) {
    const Place at = place_of(t);
    float* to = c_.destination + at.image * c_.image_stride + at.y * c_.row_stride +
                at.x * c_.pixel_stride + channel;
    const int rows = static_cast<int>(min64(kSize, c_.h.count - at.y));
    const int columns = static_cast<int>(min64(kSize, c_.w.count - at.x));
    for (int col = 0; col < cols_; col += kLanes<float>) {
      FloatVec results[kSize][kSize];
      const float* from = product_values_ + t * products_.width + col;
      transform_square<EvaluateTransposed<kSize>>(
          [&](int i, int j) { return load(from + (i * kWinogradSize + j) * products_.stride); },
          [&](int i, int j, FloatVec value) { results[i][j] = value; });
      const int lanes = cols_ - col;
      FloatVec bias{};
      if (c_.bias != nullptr) bias = load_up_to(c_.bias + channel + col, lanes);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          FloatVec value = results[i][j];
          if (c_.bias != nullptr) value += bias;
          if (c_.relu) value = select(value < FloatVec{}, FloatVec{}, value);
          store_up_to(to + i * c_.row_stride + j * c_.pixel_stride + col, value, lanes);
        }
      }
    }
  }

  static QANAT_INLINE FloatVec load_up_to(const float* from, int lanes) {
    return lanes >= kLanes<float> ? load(from) : load_some(from, lanes);
  }

  static QANAT_INLINE void store_up_to(float* to, FloatVec value, int lanes) {
    if (lanes >= kLanes<float>) {
      store(to, value);
    } else {
      store_some(to, value, lanes);
    }
  }

  const Correlation<float>& c_;
  const TileGrid grid_;
  const Range tiles_;
  const PointMatrices sources_;
  const PointMatrices products_;
  float* const zeros_;
  float* const source_values_;
  float* const product_values_;
  int cols_ = 0;
};

void run(const Correlation<float>& c, Range tiles, void* scratch) {
  if (c.h.taps == 5) {
    Block<5>(c, tiles, scratch).run();
  } else {
    Block<3>(c, tiles, scratch).run();
  }
}

int64_t tiles_at_a_time(const Correlation<float>& c) {
  const int64_t channels = round_up(c.source_channels, kLanes<float>) + kPanel;
  const int64_t bytes = kWinogradPoints * channels * static_cast<int64_t>(sizeof(float));
  const int64_t fitting = kBlockBytes / bytes / kTileRows * kTileRows;
  return max64(kFewestTiles, min64(kMostTiles, fitting));
}

size_t scratch_bytes(const Correlation<float>& c) {
  const PointMatrices sources(tiles_at_a_time(c), c.source_channels);
  const PointMatrices products(tiles_at_a_time(c), kPanel);
  return static_cast<size_t>(sources.width + sources.size() + products.size()) * sizeof(float);
}

template <int kTaps>
void transform_panel(const float* from, int64_t size, float* to) {
  for (int64_t k = 0; k < size; k += kLanes<float>) {
    transform_square<ThenScale<Evaluate<kTaps>>>(
        [&](int i, int j) { return load(from + (i * kTaps + j) * size + k); },
        [&](int i, int j, FloatVec value) {
          store(to + (i * kWinogradSize + j) * size + k, value);
        });
  }
}

void transform_weights(int64_t taps, const float* from, int64_t size, float* to) {
  if (taps == 5) {
    transform_panel<5>(from, size, to);
  } else {
    transform_panel<3>(from, size, to);
  }
}

}  // namespace

extern const WinogradCorrelationKernels winograd_correlation_kernels;
const WinogradCorrelationKernels winograd_correlation_kernels = {
    kTileRows, kPanel, kLanes<float>, transform_weights, run, tiles_at_a_time, scratch_bytes};

}  // namespace qanat::micro::QANAT_SIMD_NS
