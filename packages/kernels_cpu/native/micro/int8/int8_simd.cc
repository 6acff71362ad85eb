// Quantised numbers: products of pairs, and the loops around them.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/int8/pairs.h"
#include "packages/kernels_cpu/native/micro/int8/table.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// As many sums as the registers hold beside a row of weights and what a step needs.
#if defined(__AVX512F__)
constexpr int kRows = 14;
#elif defined(__aarch64__)
constexpr int kRows = 8;
#elif defined(__x86_64__)
constexpr int kRows = 6;
#else
constexpr int kRows = 4;
#endif
constexpr int kLanes32 = kLanes<int32_t>;
constexpr int kCols = 2 * kLanes32;

static_assert(kRows <= kInt8MostTileRows && kCols <= kInt8MostTileCols);

void widen(const int8_t* from, int64_t n, int32_t zero_point, int16_t* to) {
  const int16_t zero = static_cast<int16_t>(zero_point);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
}

// As many int8 as a vector has int32, widened.
QANAT_INLINE Vec<int32_t> load_widened(const int8_t* from) {
  typedef int8_t Bytes __attribute__((vector_size(kLanes32), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Bytes*>(from), Vec<int32_t>);
}

QANAT_INLINE Vec<int32_t> pairs_of(Vec<int32_t> low, Vec<int32_t> high) {
  const Vec<uint32_t> moved = bits_as<Vec<uint32_t>>(high) << 16;
  return (low & 0xffff) | bits_as<Vec<int32_t>>(moved);
}

template <bool kWhole, bool kTwo>
QANAT_INLINE void pack_pair(const int8_t* row, int64_t stride, int cols, int32_t* to) {
  int8_t first[kCols] = {}, second[kCols] = {};
  const int8_t *low = row, *high = row + stride;
  if (!kWhole) {
    for (int c = 0; c < cols; ++c) first[c] = row[c];
    for (int c = 0; kTwo && c < cols; ++c) second[c] = row[stride + c];
    low = first;
    high = second;
  }
  for (int v = 0; v < kCols; v += kLanes32) {
    const Vec<int32_t> upper = kTwo ? load_widened(high + v) : Vec<int32_t>{};
    store(to + v, pairs_of(load_widened(low + v), upper));
  }
}

template <bool kWhole>
QANAT_INLINE void pack_rows(const int8_t* weights, int64_t stride, int64_t rows, int cols,
                            int32_t* to) {
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2, to += kCols) {
    pack_pair<kWhole, true>(weights + row * stride, stride, cols, to);
  }
  if (row < rows) pack_pair<kWhole, false>(weights + row * stride, stride, cols, to);
}

void pack(const int8_t* weights, int64_t stride, int64_t rows, int cols, int32_t* to) {
  if (cols == kCols) {
    pack_rows<true>(weights, stride, rows, cols, to);
  } else {
    pack_rows<false>(weights, stride, rows, cols, to);
  }
}

template <int M>
void multiply_rows(const Int8Tile& tile) {
  Vec<int32_t> sums[M][2];
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < 2; ++v) {
      const int32_t* old = tile.sums + m * kCols + v * kLanes32;
      sums[m][v] = tile.accumulate ? load(old) : Vec<int32_t>{};
    }
  }
  const int32_t* b = tile.b;
  for (int64_t s = 0; s < tile.segments; ++s) {
    const int16_t* a[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) a[m] = tile.a[m] + tile.a_offsets[s];
    for (int64_t i = 0; i < tile.pairs; ++i, b += kCols) {
      const WeightPairs first(load(b)), second(load(b + kLanes32));
#pragma GCC unroll 16
      for (int m = 0; m < M; ++m) {
        const ValuePair pair(a[m] + 2 * i);
        sums[m][0] = first.add_products(pair, sums[m][0]);
        sums[m][1] = second.add_products(pair, sums[m][1]);
      }
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < 2; ++v) store(tile.sums + m * kCols + v * kLanes32, sums[m][v]);
  }
}

struct ByRows {
  void (*run[kRows])(const Int8Tile& tile);
};

template <int M>
constexpr void fill(ByRows& table) {
  table.run[M - 1] = multiply_rows<M>;
  if constexpr (M > 1) fill<M - 1>(table);
}

constexpr ByRows by_rows() {
  ByRows table{};
  fill<kRows>(table);
  return table;
}

constexpr ByRows kByRows = by_rows();

void multiply(const Int8Tile& tile) { kByRows.run[tile.rows - 1](tile); }

QANAT_INLINE int8_t finished(int32_t sum, int32_t bias, int32_t multiplier, int32_t shift,
                             int64_t zero_point, int64_t least) {
  const uint32_t wrapped = static_cast<uint32_t>(sum) + static_cast<uint32_t>(bias);
  const int64_t product = int64_t{static_cast<int32_t>(wrapped)} * multiplier;
  const int64_t rounded = (product + (int64_t{1} << (shift - 1))) >> shift;
  const int64_t value = min64(127, max64(least, rounded + zero_point));
  return static_cast<int8_t>(value);
}

template <bool kWhole>
QANAT_INLINE void finish_rows(const int32_t* sums, int64_t rows, int64_t first, int cols,
                              const Int8End& end, int8_t* to, int64_t stride) {
  const int32_t *bias = end.bias + first, *multiplier = end.multiplier + first;
  const int32_t* shift = end.shift + first;
  const int64_t zero_point = end.zero_point, least = end.least;
  const int count = kWhole ? kCols : cols;
  for (int64_t row = 0; row < rows; ++row, sums += kCols, to += stride) {
    int8_t results[kCols];  // a place of their own, which no pointer may lead to
    for (int c = 0; c < count; ++c) {
      results[c] = finished(sums[c], bias[c], multiplier[c], shift[c], zero_point, least);
    }
    __builtin_memcpy(to, results, static_cast<size_t>(count));
  }
}

void finish(const int32_t* sums, int64_t rows, int64_t first, int cols, const Int8End& end,
            int8_t* to, int64_t stride) {
  if (cols == kCols) {
    finish_rows<true>(sums, rows, first, cols, end, to, stride);
  } else {
    finish_rows<false>(sums, rows, first, cols, end, to, stride);
  }
}

QANAT_INLINE Range clip(int64_t first, int64_t length, int64_t size) {
  const int64_t begin = min64(size, max64(0, first));
  return {begin, max64(begin, min64(size, first + length))};
}

QANAT_INLINE void take_larger(const int8_t* from, int64_t n, int8_t* __restrict__ to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] > to[i] ? from[i] : to[i];
}

void max_rows(const PoolShape& s, const int8_t* input, int8_t* output, Range rows) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Range h = clip(row % s.out_height * s.stride_h - s.pad_top, s.window_h, s.in_height);
    const int8_t* image = input + row / s.out_height * s.in_height * s.in_width * s.channels;
    for (int64_t x = 0; x < s.out_width; ++x) {
      const Range w = clip(x * s.stride_w - s.pad_left, s.window_w, s.in_width);
      int8_t* to = output + (row * s.out_width + x) * s.channels;
      for (int64_t c = 0; c < s.channels; ++c) to[c] = -128;
      for (int64_t y = h.begin; y < h.end; ++y) {
        for (int64_t i = w.begin; i < w.end; ++i) {
          take_larger(image + (y * s.in_width + i) * s.channels, s.channels, to);
        }
      }
    }
  }
}

// Adding this and taking it away rounds a float of less than 2^22 to the nearest integer, halves
// to even.
constexpr float kRounder = 12582912.0f;

void quantize(const float* from, int64_t n, float scale, int32_t zero_point, int8_t* to) {
  for (int64_t i = 0; i < n; ++i) {
    float x = from[i] / scale;
    x = x == x ? x : 0;
    x = x < -512 ? -512 : x;
    x = x > 512 ? 512 : x;
    const int32_t rounded = static_cast<int32_t>((x + kRounder) - kRounder) + zero_point;
    const int32_t least = rounded < -128 ? -128 : rounded;
    to[i] = static_cast<int8_t>(least > 127 ? 127 : least);
  }
}

void dequantize(const int8_t* from, int64_t n, float scale, int32_t zero_point, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i] - zero_point) * scale;
}

}  // namespace

extern const Int8Table int8_table;
const Int8Table int8_table = {kRows,  kCols,    widen,    pack,      multiply,
                              finish, max_rows, quantize, dequantize};

}  // namespace qanat::micro::QANAT_SIMD_NS
