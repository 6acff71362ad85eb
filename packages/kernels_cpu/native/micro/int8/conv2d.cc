// Convolution of quantised numbers, without im2col: a band of output rows at a time, for which the
// rows of the map that it reads are widened once, with zeros around them.
//
// A row of taps reads neighbouring values of such a widened row, so that it is one segment of
// products; with dilated columns each tap is one.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/int8/checked_bytes.h"
#include "packages/kernels_cpu/native/micro/int8/products.h"
#include "packages/kernels_cpu/native/micro/int8/table.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(Int8Table, int8_table)

namespace {

constexpr double kMultiplicationsPerBand = 1e6;

class Convolution {
 public:
  explicit Convolution(const Int8Conv2d& conv)
      : conv_(conv),
        s_(conv.shape),
        table_(QANAT_SIMD_SELECT(int8_table)),
        tap_segments_(s_.dilation_w == 1 ? 1 : s_.filter_width),
        segments_(s_.filter_height * tap_segments_),
        length_(s_.filter_width / tap_segments_ * s_.in_channels),
        pairs_(ceil_div(length_, 2)),
        panels_(ceil_div(s_.out_channels, table_.tile_cols)),
        row_width_((s_.out_width - 1) * s_.stride_w + (s_.filter_width - 1) * s_.dilation_w + 1),
        band_rows_(rows_of_a_band()),
        bands_(ceil_div(s_.out_height, band_rows_)) {}

  size_t scratch_bytes(int threads) const {
    const size_t slot = slot_bytes();
    const size_t slots = slot < kTooMuch / Slots::kMost ? Slots::bytes(slot, threads) : kTooMuch;
    return checked_sum({offsets_bytes(), packed_bytes(), slots});
  }

  void run(void* scratch, Parallel& parallel) {
    char* memory = static_cast<char*>(scratch);
    offsets_ = reinterpret_cast<int64_t*>(memory);
    packed_ = reinterpret_cast<int32_t*>(memory + offsets_bytes());
    for (int64_t i = 0; i < segments_; ++i) offsets_[i] = offset_of(i);
    parallel.for_each(panels_, [&](int64_t panel) { pack(panel); });
    Slots slots(memory + offsets_bytes() + packed_bytes(), slot_bytes(), parallel.threads());
    parallel.for_each(s_.batch * bands_, [&](int64_t chunk) {
      const Slot slot(slots);
      const int64_t band = chunk % bands_;
      run_band(chunk / bands_, part_of(s_.out_height, bands_, band),
               static_cast<int16_t*>(slot.get()));
    });
  }

 private:
  int64_t rows_of_a_band() const {
    const double row = static_cast<double>(s_.out_width) * static_cast<double>(s_.out_channels) *
                       static_cast<double>(segments_) * static_cast<double>(length_);
    const double rows = kMultiplicationsPerBand / (row + 1) + 1;
    return rows < static_cast<double>(s_.out_height) ? static_cast<int64_t>(rows) : s_.out_height;
  }

  int64_t map_rows(int64_t out_rows) const {
    return (out_rows - 1) * s_.stride_h + (s_.filter_height - 1) * s_.dilation_h + 1;
  }

  size_t offsets_bytes() const {
    return checked_bytes({segments_, static_cast<int64_t>(sizeof(int64_t))});
  }

  size_t packed_bytes() const {
    return checked_bytes(
        {panels_, segments_, pairs_, table_.tile_cols, static_cast<int64_t>(sizeof(int32_t))});
  }

  // A segment of odd length reads one value behind its last, with a weight of 0.
  size_t slot_bytes() const {
    return checked_sum({checked_bytes({map_rows(band_rows_), row_width_, s_.in_channels,
                                       static_cast<int64_t>(sizeof(int16_t))}),
                        kScratchAlignment});
  }

  // Where segment i begins, from a pixel's first value.
  int64_t offset_of(int64_t i) const {
    const int64_t h = i / tap_segments_, w = i % tap_segments_;
    return (h * s_.dilation_h * row_width_ + w * s_.dilation_w) * s_.in_channels;
  }

  void pack(int64_t panel) {
    const int64_t col = panel * table_.tile_cols;
    const int64_t segment_size = pairs_ * table_.tile_cols;
    for (int64_t i = 0; i < segments_; ++i) {
      table_.pack(conv_.filter + i * length_ * s_.out_channels + col, s_.out_channels, length_,
                  cols_of(panel), packed_ + (panel * segments_ + i) * segment_size);
    }
  }

  int cols_of(int64_t panel) const {
    return static_cast<int>(min64(table_.tile_cols, s_.out_channels - panel * table_.tile_cols));
  }

  void run_band(int64_t image, Range rows, int16_t* map) {
    widen(image, rows, map);
    const int64_t pixels = rows.size() * s_.out_width;
    const int64_t tiles = ceil_div(pixels, table_.tile_rows);
    int8_t* output =
        conv_.output + (image * s_.out_height + rows.begin) * s_.out_width * s_.out_channels;
    for (int64_t panel = 0; panel < panels_; ++panel) {
      for (int64_t i = 0; i < tiles; ++i) run_tile(panel, part_of(pixels, tiles, i), map, output);
    }
  }

  // Row 0 of the widened map is the first that output row rows.begin reads.
  void widen(int64_t image, Range rows, int16_t* map) {
    const int64_t row_size = row_width_ * s_.in_channels;
    const int64_t count = map_rows(rows.size());
    const int8_t* from = conv_.input + image * s_.in_height * s_.in_width * s_.in_channels;
    const int64_t left = min64(s_.pad_left, row_width_);
    const int64_t inside = max64(0, min64(s_.in_width, row_width_ - left));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t y = rows.begin * s_.stride_h - s_.pad_top + i;
      int16_t* to = map + i * row_size;
      if (y < 0 || y >= s_.in_height) {
        clear(to, row_size);
        continue;
      }
      const int64_t begin = left * s_.in_channels, size = inside * s_.in_channels;
      clear(to, begin);
      table_.widen(from + y * s_.in_width * s_.in_channels, size, conv_.input_zero_point,
                   to + begin);
      clear(to + begin + size, row_size - begin - size);
    }
    map[count * row_size] = 0;
  }

  static void clear(int16_t* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = 0;
  }

  void run_tile(int64_t panel, Range pixels, const int16_t* map, int8_t* output) {
    alignas(64) int32_t sums[kInt8MostTileRows * kInt8MostTileCols];
    const int16_t* a[kInt8MostTileRows];
    for (int64_t m = 0; m < pixels.size(); ++m) {
      const int64_t y = (pixels.begin + m) / s_.out_width, x = (pixels.begin + m) % s_.out_width;
      a[m] = map + (y * s_.stride_h * row_width_ + x * s_.stride_w) * s_.in_channels;
    }
    table_.multiply({static_cast<int>(pixels.size()), segments_, pairs_, a, offsets_,
                     packed_ + panel * segments_ * pairs_ * table_.tile_cols, sums, false});
    const int64_t col = panel * table_.tile_cols;
    table_.finish(sums, pixels.size(), col, cols_of(panel), conv_.end,
                  output + pixels.begin * s_.out_channels + col, s_.out_channels);
  }

  const Int8Conv2d& conv_;
  const Conv2dShape& s_;
  const Int8Table& table_;
  const int64_t tap_segments_;  // a row of taps is so many segments
  const int64_t segments_;
  const int64_t length_;  // of a segment, in values
  const int64_t pairs_;
  const int64_t panels_;
  const int64_t row_width_;  // of a widened row, in pixels
  const int64_t band_rows_;
  const int64_t bands_;
  int64_t* offsets_ = nullptr;
  int32_t* packed_ = nullptr;
};

bool is_empty(const Conv2dShape& s) {
  return s.batch == 0 || s.out_height == 0 || s.out_width == 0 || s.out_channels == 0;
}

}  // namespace

size_t int8_conv2d_scratch_bytes(const Int8Conv2d& conv, int threads) {
  return is_empty(conv.shape) ? 0 : Convolution(conv).scratch_bytes(threads);
}

void int8_conv2d(const Int8Conv2d& conv, void* scratch, Parallel& parallel) {
  if (is_empty(conv.shape)) return;
  Convolution(conv).run(scratch, parallel);
}

}  // namespace qanat::micro
