// The filter gradient, by register tiles of filter taps and input channels x output channels whose
// steps are output pixels.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/filter_gradient.h"
#include "packages/kernels_cpu/native/micro/pack.h"
#include "packages/kernels_cpu/native/micro/tile.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// Output pixels done at a time: few enough that their input and their gradient stay in the cache
// while all taps and channels pass over them.
constexpr int64_t kPixelsAtATime = 800;

// With fewer input channels than this a tap alone would make too small a tile. Then a band of the
// input is copied with zeros around it, and a whole row of taps is one run of rows.
constexpr int64_t kFewChannels = 6;

bool copies_band(const Conv2dShape& s) { return s.in_channels < kFewChannels && s.dilation_w == 1; }

int64_t rows_at_a_time(const Conv2dShape& s) {
  return max64(1, kPixelsAtATime / max64(1, s.out_width));
}

// Where in the input the band of some output rows begins, and how large it is.
struct BandShape {
  explicit BandShape(const Conv2dShape& s, int64_t rows)
      : height((rows - 1) * s.stride_h + (s.filter_height - 1) * s.dilation_h + 1),
        width((s.out_width - 1) * s.stride_w + s.filter_width) {}

  int64_t height;
  int64_t width;
};

template <typename T>
class Adder {
 public:
  Adder(const FilterGradient<T>& gradient, Range units, T* d_filter, void* scratch)
      : g_(gradient),
        s_(gradient.shape),
        units_(units),
        d_filter_(d_filter),
        panel_(static_cast<T*>(scratch)),
        band_(panel_ + panel_size(s_)) {}

  static int64_t panel_size(const Conv2dShape& s) {
    return rows_at_a_time(s) * s.out_width * kTileCols<T>;
  }

  static int64_t band_size(const Conv2dShape& s) {
    if (!copies_band(s)) return 0;
    const BandShape band(s, min64(rows_at_a_time(s), s.out_height));
    return max64(0, band.height) * max64(0, band.width) * s.in_channels;
  }

  void run(Range rows) {
    while (rows.begin < rows.end) {
      int64_t count = min64(rows.size(), rows_at_a_time(s_));
      if (copies_band(s_)) {
        count = min64(count, s_.out_height - rows.begin % s_.out_height);
        copy_band({rows.begin, rows.begin + count});
      }
      add({rows.begin, rows.begin + count});
      rows.begin += count;
    }
  }

 private:
  void add(Range rows) {
    int64_t packed = -1;
    for (int64_t unit = units_.begin; unit < units_.end; ++unit) {
      const int64_t panel = unit / s_.filter_height;
      if (panel != packed) pack(rows, panel);
      packed = panel;
      if (copies_band(s_)) {
        add_band_row(rows.size(), unit % s_.filter_height);
      } else {
        for (int64_t w = 0; w < s_.filter_width; ++w) add_tap(rows, unit % s_.filter_height, w);
      }
    }
  }

  void pack(Range rows, int64_t panel) {
    channel_ = panel * kTileCols<T>;
    cols_ = static_cast<int>(min64(kTileCols<T>, s_.out_channels - channel_));
    pack_panel(g_.d_output + rows.begin * s_.out_width * s_.out_channels + channel_,
               rows.size() * s_.out_width, s_.out_channels, cols_, 1, panel_width<T>(cols_),
               panel_);
  }

  void copy_band(Range rows) {
    const BandShape band(s_, rows.size());
    const int64_t image = rows.begin / s_.out_height;
    const int64_t first_row = rows.begin % s_.out_height * s_.stride_h - s_.pad_top;
    const int64_t row_size = s_.in_width * s_.in_channels;
    const int64_t begin = min64(band.width, s_.pad_left) * s_.in_channels;
    const int64_t end = max64(begin, min64(band.width, s_.pad_left + s_.in_width) * s_.in_channels);
    T* to = band_;
    for (int64_t i = 0; i < band.height; ++i, to += band.width * s_.in_channels) {
      const int64_t y = first_row + i;
      const bool inside = y >= 0 && y < s_.in_height;
      const T* from = inside ? g_.input + (image * s_.in_height + y) * row_size : nullptr;
      const Range copied = inside ? Range{begin, end} : Range{0, 0};
      for (int64_t j = 0; j < copied.begin; ++j) to[j] = 0;
      for (int64_t j = copied.begin; j < copied.end; ++j) to[j] = from[j - copied.begin];
      for (int64_t j = copied.end; j < band.width * s_.in_channels; ++j) to[j] = 0;
    }
  }

  // A row of taps over the copied band.
  void add_band_row(int64_t rows, int64_t h) {
    const BandShape band(s_, rows);
    Segments segments;
    for (int64_t r = 0; r < rows; ++r) {
      segments.add(band_ + (r * s_.stride_h + h * s_.dilation_h) * band.width * s_.in_channels,
                   panel_ + r * s_.out_width * panel_width<T>(cols_));
    }
    const int64_t run = s_.filter_width * s_.in_channels;
    run_tiles(segments, s_.out_width, run, d_filter_ + h * run * s_.out_channels);
  }

  // One tap, over those pixels for which it lies inside the input.
  void add_tap(Range rows, int64_t h, int64_t w) {
    const int64_t offset_h = h * s_.dilation_h - s_.pad_top;
    const int64_t offset_w = w * s_.dilation_w - s_.pad_left;
    const int64_t x_begin = offset_w >= 0 ? 0 : ceil_div(-offset_w, s_.stride_w);
    const int64_t x_end = offset_w >= s_.in_width
                              ? 0
                              : min64(s_.out_width, ceil_div(s_.in_width - offset_w, s_.stride_w));
    if (x_begin >= x_end) return;
    Segments segments;
    const int64_t x = x_begin * s_.stride_w + offset_w;
    const T* image =
        g_.input + (rows.begin / s_.out_height * s_.in_height * s_.in_width + x) * s_.in_channels;
    const T* b = panel_ + x_begin * panel_width<T>(cols_);
    int64_t row = rows.begin % s_.out_height;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const int64_t y = row * s_.stride_h + offset_h;
      if (y >= 0 && y < s_.in_height) {
        segments.add(image + y * s_.in_width * s_.in_channels, b);
      }
      b += s_.out_width * panel_width<T>(cols_);
      if (++row == s_.out_height) {
        row = 0;
        image += s_.in_height * s_.in_width * s_.in_channels;
      }
    }
    run_tiles(segments, x_end - x_begin, s_.in_channels,
              d_filter_ + (h * s_.filter_width + w) * s_.in_channels * s_.out_channels);
  }

  struct Segments {
    int count = 0;
    const T* a[kPixelsAtATime];
    const T* b[kPixelsAtATime];

    void add(const T* a_segment, const T* b_segment) {
      a[count] = a_segment;
      b[count++] = b_segment;
    }
  };

  // `values` adjacent values of the input are as many rows of d_filter.
  void run_tiles(Segments& segments, int64_t length, int64_t values, T* d_filter) {
    const int64_t tiles = ceil_div(values, kTileRows);
    for (int64_t i = 0; i < tiles; ++i) {
      const Range part = part_of(values, tiles, i);
      const int count = static_cast<int>(part.size());
      T* rows[kTileRows];
      for (int m = 0; m < count; ++m) {
        rows[m] = d_filter + (part.begin + m) * s_.out_channels + channel_;
      }
      Tiles<T, ColumnSteps<T>>::run(
          count,
          {segments.count, length, segments.a, s_.stride_w * s_.in_channels, segments.b,
           panel_width<T>(cols_)},
          {rows, cols_, true, nullptr, false});
      for (int s = 0; s < segments.count; ++s) segments.a[s] += count;
    }
  }

  const FilterGradient<T>& g_;
  const Conv2dShape& s_;
  const Range units_;
  T* const d_filter_;
  T* const panel_;
  T* const band_;
  int64_t channel_ = 0;
  int cols_ = 0;
};

template <typename T>
void add_rows(const FilterGradient<T>& gradient, Range rows, Range units, T* d_filter,
              void* scratch) {
  Adder<T>(gradient, units, d_filter, scratch).run(rows);
}

template <typename T>
size_t scratch_bytes(const Conv2dShape& shape) {
  return static_cast<size_t>(Adder<T>::panel_size(shape) + Adder<T>::band_size(shape)) * sizeof(T);
}

template <typename T>
constexpr FilterGradientKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {kTileCols<T>, add_rows<T>, scratch_bytes<T>};
}

}  // namespace

extern const FilterGradientTable filter_gradient_table;
const FilterGradientTable filter_gradient_table = {kernels<float>(), kernels<double>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
