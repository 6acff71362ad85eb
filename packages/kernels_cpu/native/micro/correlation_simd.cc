// Rows of a correlation, by register tiles of destination pixels x channels.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/correlation.h"
#include "packages/kernels_cpu/native/micro/pack.h"
#include "packages/kernels_cpu/native/micro/tile.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// The input of a tile is read once for each panel of channels: it shall stay in the first-level
// cache. The weights are read once for each tile: a block of them shall stay in the second.
constexpr int64_t kTileInputBytes = 48 << 10;
constexpr int64_t kWeightsBlockBytes = 256 << 10;

// Destination rows whose input is copied at a time, where it is.
constexpr int64_t kRowsCopied = 8;

// So many runs of taps at a time.
constexpr int kMostSegments = 128;

// With enough images, the pixels of a tile are one pixel of several images: then all have the same
// taps inside the source, and the others are left out. With fewer images the pixels of a tile
// are neighbours, and their input is first copied into a band with zeros around it.
template <typename T>
bool tiles_across_images(const Correlation<T>& c) {
  return 2 * c.batch >= kTileRows;
}

// The pixels of a tile and the taps that all of them have.
template <typename T>
struct PixelTile {
  int count;
  const T* sources[kTileRows];
  T* destinations[kTileRows];
  Range h;
  Range w;
  int64_t row_stride;  // of the source
  int64_t offset;      // from sources to tap 0, 0
};

template <typename T>
class Rows {
 public:
  Rows(const Correlation<T>& correlation, void* scratch)
      : c_(correlation), band_(static_cast<T*>(scratch)) {
    const int64_t taps = max64(1, c_.h.taps * c_.w.taps);
    const int64_t bytes_a_channel = taps * kTileRows * static_cast<int64_t>(sizeof(T));
    channel_blocks_ = max64(
        1, min64(ceil_div(c_.source_channels, 16),
                 (c_.source_channels * bytes_a_channel + kTileInputBytes / 2) / kTileInputBytes));
    const int64_t block = ceil_div(c_.source_channels, channel_blocks_);
    const int64_t panel_bytes =
        max64(1, taps * block * kTileCols<T> * static_cast<int64_t>(sizeof(T)));
    const int64_t panels = max64(1, ceil_div(c_.channels, kTileCols<T>));
    panel_blocks_ = ceil_div(panels, min64(panels, max64(1, kWeightsBlockBytes / panel_bytes)));
    panels_ = panels;
  }

  void run(Range rows) {
    if (tiles_across_images(c_)) {
      run_block_by_block([&] { run_across_images(rows); });
    } else {
      run_by_bands(rows);
    }
  }

  static int64_t count(const Correlation<T>& c) {
    return (tiles_across_images(c) ? groups(c) : c.batch) * c.h.count;
  }

  static int64_t band_size(const Correlation<T>& c, int64_t rows) {
    if (tiles_across_images(c)) return 0;
    return max64(0, band_height(c, min64(rows, kRowsCopied))) * band_width(c) * c.source_channels;
  }

 private:
  static int64_t groups(const Correlation<T>& c) { return ceil_div(c.batch, kTileRows); }

  static int64_t band_height(const Correlation<T>& c, int64_t rows) {
    return (rows - 1) * c.h.source_step + (c.h.taps - 1) * c.h.tap_step + 1;
  }

  static int64_t band_width(const Correlation<T>& c) {
    return max64(1, (c.w.count - 1) * c.w.source_step + (c.w.taps - 1) * c.w.tap_step + 1);
  }

  template <typename Run>
  void run_block_by_block(Run run) {
    for (int64_t p = 0; p < panel_blocks_; ++p) {
      panel_range_ = part_of(panels_, panel_blocks_, p);
      for (int64_t b = 0; b < channel_blocks_; ++b) {
        source_range_ = part_of(c_.source_channels, channel_blocks_, b);
        run();
      }
    }
  }

  void run_across_images(Range rows) {
    PixelTile<T> tile;
    tile.row_stride = c_.w.source_size * c_.source_channels;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const Range images = part_of(c_.batch, groups(c_), row / c_.h.count);
      const int64_t y = row % c_.h.count;
      tile.count = static_cast<int>(images.size());
      tile.h = c_.h.valid_taps(y);
      for (int m = 0; m < tile.count; ++m) {
        tile.sources[m] = c_.source + (images.begin + m) * c_.h.source_size * tile.row_stride;
      }
      for (int64_t x = 0; x < c_.w.count; ++x) {
        tile.w = c_.w.valid_taps(x);
        tile.offset = c_.h.origin(y) * tile.row_stride + c_.w.origin(x) * c_.source_channels;
        for (int m = 0; m < tile.count; ++m) tile.destinations[m] = pixel(images.begin + m, y, x);
        run_tile(tile);
      }
    }
  }

  void run_by_bands(Range rows) {
    while (rows.begin < rows.end) {
      const int64_t image = rows.begin / c_.h.count;
      const int64_t y = rows.begin % c_.h.count;
      const int64_t count = min64(min64(rows.size(), c_.h.count - y), kRowsCopied);
      copy_band(image, y, count);
      run_block_by_block([&] { run_band(image, y, count); });
      rows.begin += count;
    }
  }

  void copy_band(int64_t image, int64_t y, int64_t rows) {
    const int64_t width = band_width(c_);
    const int64_t height = band_height(c_, rows);
    const Range inside = {min64(width, max64(0, -c_.w.first_tap)),
                          max64(0, min64(width, c_.w.source_size - c_.w.first_tap))};
    T* to = band_;
    for (int64_t i = 0; i < height; ++i) {
      const int64_t source_row = c_.h.origin(y) + i;
      Range copied = {0, 0};
      if (source_row >= 0 && source_row < c_.h.source_size && inside.size() > 0) copied = inside;
      // Where the band's first column would be: not in the map, maybe, so an index and no pointer.
      const int64_t from =
          ((image * c_.h.source_size + source_row) * c_.w.source_size + c_.w.first_tap) *
          c_.source_channels;
      for (int64_t j = 0; j < copied.begin * c_.source_channels; ++j) to[j] = 0;
      for (int64_t j = copied.begin * c_.source_channels; j < copied.end * c_.source_channels;
           ++j) {
        to[j] = c_.source[from + j];
      }
      for (int64_t j = copied.end * c_.source_channels; j < width * c_.source_channels; ++j) {
        to[j] = 0;
      }
      to += width * c_.source_channels;
    }
  }

  void run_band(int64_t image, int64_t y, int64_t rows) {
    PixelTile<T> tile;
    tile.row_stride = band_width(c_) * c_.source_channels;
    tile.offset = 0;
    tile.h = {0, c_.h.taps};
    tile.w = {0, c_.w.taps};
    const int64_t pixels = rows * c_.w.count;
    const int64_t tiles = ceil_div(pixels, kTileRows);
    for (int64_t i = 0; i < tiles; ++i) {
      const Range part = part_of(pixels, tiles, i);
      tile.count = static_cast<int>(part.size());
      for (int m = 0; m < tile.count; ++m) {
        const int64_t row = (part.begin + m) / c_.w.count;
        const int64_t x = (part.begin + m) % c_.w.count;
        tile.sources[m] = band_ + row * c_.h.source_step * tile.row_stride +
                          x * c_.w.source_step * c_.source_channels;
        tile.destinations[m] = pixel(image, y + row, x);
      }
      run_tile(tile);
    }
  }

  T* pixel(int64_t image, int64_t y, int64_t x) const {
    return c_.destination + image * c_.image_stride + y * c_.row_stride + x * c_.pixel_stride;
  }

  // Runs of taps whose source values, and weights, lie one after the other: a row of taps where
  // that is possible, else one tap.
  void run_tile(const PixelTile<T>& tile) {
    const bool whole_rows = channel_blocks_ == 1 && c_.w.tap_step == 1;
    const int64_t runs_a_row = whole_rows ? (tile.w.size() > 0 ? 1 : 0) : tile.w.size();
    const int64_t runs = tile.h.size() * runs_a_row;
    const int64_t length = source_range_.size() * (whole_rows ? tile.w.size() : 1);
    int64_t done = 0;
    do {
      int64_t a_offsets[kMostSegments];
      int64_t b_steps[kMostSegments];
      const int segments = static_cast<int>(min64(kMostSegments, runs - done));
      for (int s = 0; s < segments; ++s) {
        const int64_t h = tile.h.begin + (done + s) / runs_a_row;
        const int64_t w = tile.w.begin + (done + s) % runs_a_row;
        a_offsets[s] = tile.offset + h * c_.h.tap_step * tile.row_stride +
                       w * c_.w.tap_step * c_.source_channels + source_range_.begin;
        b_steps[s] = (h * c_.w.taps + w) * c_.source_channels + source_range_.begin;
      }
      const bool first = done == 0 && source_range_.begin == 0;
      done += segments;
      const bool last = done == runs && source_range_.end == c_.source_channels;
      run_panels(tile, {segments, length, tile.sources, a_offsets, nullptr, b_steps, 0}, first,
                 last);
    } while (done < runs);
  }

  void run_panels(const PixelTile<T>& tile, RowSteps<T> steps, bool first, bool last) {
    const int64_t weights_steps = c_.h.taps * c_.w.taps * c_.source_channels;
    T* rows[kTileRows];
    for (int64_t p = panel_range_.begin; p < panel_range_.end; ++p) {
      const int64_t channel = p * kTileCols<T>;
      const int cols = static_cast<int>(min64(kTileCols<T>, c_.channels - channel));
      for (int m = 0; m < tile.count; ++m) rows[m] = tile.destinations[m] + channel;
      steps.b = c_.weights + channel * weights_steps;
      steps.b_stride = panel_width<T>(cols);
      Tiles<T, RowSteps<T>>::run(
          tile.count, steps,
          {rows, cols, !first, last && c_.bias != nullptr ? c_.bias + channel : nullptr,
           last && c_.relu});
    }
  }

  const Correlation<T>& c_;
  T* const band_;
  int64_t channel_blocks_;
  int64_t panels_;
  int64_t panel_blocks_;
  Range panel_range_ = {0, 0};
  Range source_range_ = {0, 0};
};

template <typename T>
T* pack_weights(const T* from, int64_t steps, int64_t step_stride, int64_t channel_stride,
                int64_t channel, int64_t channels, T* to) {
  const int cols = static_cast<int>(min64(kTileCols<T>, channels - channel));
  pack_panel(from + channel * channel_stride, steps, step_stride, cols, channel_stride,
             panel_width<T>(cols), to);
  return to + steps * panel_width<T>(cols);
}

template <typename T>
void rows(const Correlation<T>& correlation, Range rows, void* scratch) {
  Rows<T>(correlation, scratch).run(rows);
}

template <typename T>
size_t scratch_bytes(const Correlation<T>& correlation, int64_t rows) {
  return static_cast<size_t>(Rows<T>::band_size(correlation, rows)) * sizeof(T);
}

template <typename T>
constexpr CorrelationKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {kTileRows, kTileCols<T>, pack_weights<T>, rows<T>, Rows<T>::count, scratch_bytes<T>};
}

}  // namespace

extern const CorrelationTable correlation_table;
const CorrelationTable correlation_table = {kernels<float>(), kernels<double>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
