// Pooling, vectorised over channels.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/pool_table.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

namespace {

// The part of a window that lies inside the map.
struct Window {
  Range h;
  Range w;
};

QANAT_INLINE Range clip(int64_t first, int64_t length, int64_t size) {
  const int64_t begin = min64(size, max64(0, first));
  return {begin, max64(begin, min64(size, first + length))};
}

QANAT_INLINE Window window_at(const PoolShape& s, int64_t y, int64_t x) {
  return {clip(y * s.stride_h - s.pad_top, s.window_h, s.in_height),
          clip(x * s.stride_w - s.pad_left, s.window_w, s.in_width)};
}

// Calls visit(offset) with the offset of each pixel of the window from the image's first, in row
// order.
template <typename Visit>
QANAT_INLINE void for_each_pixel(const PoolShape& s, const Window& window, Visit visit) {
  for (int64_t h = window.h.begin; h < window.h.end; ++h) {
    for (int64_t w = window.w.begin; w < window.w.end; ++w) {
      visit((h * s.in_width + w) * s.channels);
    }
  }
}

// Calls visit.template operator()<whole>(first channel, count) for each vector of the channels.
template <typename T, typename Visit>
QANAT_INLINE void for_each_vector(Range channels, Visit visit) {
  int64_t c = channels.begin;
  for (; c + kLanes<T> <= channels.end; c += kLanes<T>) {
    visit.template operator()<true>(c, kLanes<T>);
  }
  if (c < channels.end) visit.template operator()<false>(c, channels.end - c);
}

// Calls visit(window, output pixel, image) for the pixels of the output rows.
template <typename Visit>
QANAT_INLINE void for_each_window(const PoolShape& s, Range rows, Visit visit) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t x = 0; x < s.out_width; ++x) {
      visit(window_at(s, row % s.out_height, x), row * s.out_width + x, row / s.out_height);
    }
  }
}

template <typename T>
constexpr T kLowest = -__builtin_inff();

template <typename T>
void max_rows(const PoolShape& s, const T* input, T* output, Range rows) {
  for_each_window(s, rows, [&](const Window& window, int64_t pixel, int64_t image) {
    const T* from = input + image * s.in_height * s.in_width * s.channels;
    T* to = output + pixel * s.channels;
    for_each_vector<T>({0, s.channels}, [&]<bool kWhole>(int64_t c, int64_t count) {
      Vec<T> largest = splat(kLowest<T>);
      for_each_pixel(s, window, [&](int64_t offset) {
        const Vec<T> x = load_lanes<kWhole>(from + offset + c, count);
        largest = select<Vec<T>>((x > largest) | (x != x), x, largest);
      });
      store_lanes<kWhole>(to + c, largest, count);
    });
  });
}

template <typename T>
void avg_rows(const PoolShape& s, const T* input, T* output, Range rows) {
  for_each_window(s, rows, [&](const Window& window, int64_t pixel, int64_t image) {
    const T* from = input + image * s.in_height * s.in_width * s.channels;
    T* to = output + pixel * s.channels;
    const T size = static_cast<T>(max64(1, window.h.size() * window.w.size()));
    for_each_vector<T>({0, s.channels}, [&]<bool kWhole>(int64_t c, int64_t count) {
      Vec<T> total = {};
      for_each_pixel(s, window, [&](int64_t offset) {
        total += load_lanes<kWhole>(from + offset + c, count);
      });
      store_lanes<kWhole>(to + c, total / splat(size), count);
    });
  });
}

// Clears the channels in all rows of the image below `end` that have not been cleared: row by row,
// just before a window first adds to them, so that they are still in the cache then.
template <typename T>
void clear_rows(const PoolShape& s, T* image, Range channels, int64_t& cleared, int64_t end) {
  for (; cleared < end; ++cleared) {
    T* row = image + cleared * s.in_width * s.channels;
    for (int64_t x = 0; x < s.in_width; ++x) {
      for (int64_t c = channels.begin; c < channels.end; ++c) row[x * s.channels + c] = 0;
    }
  }
}

// Calls add(window, output pixel) for each window of the image, after clearing what it touches.
template <typename T, typename Add>
QANAT_INLINE void backward(const PoolShape& s, T* d_image, int64_t image, Range channels, Add add) {
  int64_t cleared = 0;
  for (int64_t y = 0; y < s.out_height; ++y) {
    clear_rows(s, d_image, channels, cleared, window_at(s, y, 0).h.end);
    for_each_window(s, {image * s.out_height + y, image * s.out_height + y + 1},
                    [&](const Window& window, int64_t pixel, int64_t) { add(window, pixel); });
  }
  clear_rows(s, d_image, channels, cleared, s.in_height);
}

template <typename T>
void max_backward(const PoolShape& s, const T* input, const T* output, const T* d_output,
                  T* d_input, int64_t image, Range channels) {
  const int64_t image_size = s.in_height * s.in_width * s.channels;
  const T* from = input + image * image_size;
  T* to = d_input + image * image_size;
  backward(s, to, image, channels, [&](const Window& window, int64_t pixel) {
    for_each_vector<T>(channels, [&]<bool kWhole>(int64_t c, int64_t count) {
      const Vec<T> largest = load_lanes<kWhole>(output + pixel * s.channels + c, count);
      const Vec<T> gradient = load_lanes<kWhole>(d_output + pixel * s.channels + c, count);
      const auto is_nan = largest != largest;
      Mask<T> open = ~Mask<T>{};
      for_each_pixel(s, window, [&](int64_t offset) {
        const Vec<T> x = load_lanes<kWhole>(from + offset + c, count);
        const auto hit = ((x == largest) | ((x != x) & is_nan)) & open;
        open = open & ~hit;
        T* at = to + offset + c;
        const Vec<T> sum = load_lanes<kWhole>(at, count) + select<Vec<T>>(hit, gradient, Vec<T>{});
        store_lanes<kWhole>(at, sum, count);
      });
    });
  });
}

template <typename T>
void avg_backward(const PoolShape& s, const T* d_output, T* d_input, int64_t image,
                  Range channels) {
  T* to = d_input + image * s.in_height * s.in_width * s.channels;
  backward(s, to, image, channels, [&](const Window& window, int64_t pixel) {
    const T size = static_cast<T>(max64(1, window.h.size() * window.w.size()));
    for_each_vector<T>(channels, [&]<bool kWhole>(int64_t c, int64_t count) {
      const Vec<T> gradient =
          load_lanes<kWhole>(d_output + pixel * s.channels + c, count) / splat(size);
      for_each_pixel(s, window, [&](int64_t offset) {
        T* at = to + offset + c;
        store_lanes<kWhole>(at, load_lanes<kWhole>(at, count) + gradient, count);
      });
    });
  });
}

template <typename T>
constexpr PoolKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {max_rows<T>, max_backward<T>, avg_rows<T>, avg_backward<T>};
}

}  // namespace

extern const PoolTable pool_table;
const PoolTable pool_table = {kernels<float>(), kernels<double>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
