// The register tiles that matrix products and convolutions are made of.
//
// A tile is up to kTileRows x kTileCols sums, held in registers from the first step to the last.
// Each step multiplies one value a row with one row of B, whose columns fill the vectors. The
// two kinds differ only in where a row's next value lies.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_TILE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_TILE_H_

#include <cstdint>

#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

// As many sums as the registers hold beside a row of B and one value of A.
#if defined(__AVX512F__)
inline constexpr int kTileRows = 14;
#elif defined(__aarch64__)
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;

template <typename T>
inline constexpr int kTileCols = kTileVectors * kLanes<T>;

// The vectors' columns that a panel with so many columns of its own takes up.
template <typename T>
constexpr int panel_width(int cols) {
  return cols > kLanes<T> ? kTileCols<T> : kLanes<T>;
}

// What becomes of the sums: they are added to the old values if `accumulate`, then to the bias if
// there is one, pass through relu if asked for, and are stored.
template <typename T>
struct TileEnd {
  T* const* rows;  // a row's first column
  int cols;        // 1 ... kTileCols
  bool accumulate;
  const T* bias;
  bool relu;
};

// Rows whose values are adjacent, step by step, within each of several segments: in segment s, row
// m reads a[m][a_offsets[s] + step], and row b_steps[s] + step of B, whose rows lie b_stride apart.
template <typename T>
struct RowSteps {
  int segments;
  int64_t length;
  const T* const* a;
  const int64_t* a_offsets;
  const T* b;
  const int64_t* b_steps;
  int64_t b_stride;
};

// Rows whose values lie beside each other: in segment s, row m reads a[s][step * a_stride + m], and
// row `step` of the B that starts at b[s].
template <typename T>
struct ColumnSteps {
  int segments;
  int64_t length;
  const T* const* a;
  int64_t a_stride;
  const T* const* b;
  int64_t b_stride;
};

// The end of a tile whose columns do not fill the vectors; `sums` is [rows, width].
template <typename T>
__attribute__((noinline)) void store_part(const T* sums, int rows, int width,
                                          const TileEnd<T>& end) {
  for (int m = 0; m < rows; ++m) {
    T* to = end.rows[m];
    for (int i = 0; i < end.cols; ++i) {
      T x = sums[m * width + i];
      if (end.accumulate) x += to[i];
      if (end.bias != nullptr) x += end.bias[i];
      to[i] = end.relu && x < 0 ? 0 : x;
    }
  }
}

template <typename T, int M, int NV>
struct Sums {
  Vec<T> of[M][NV];

  QANAT_INLINE void clear() {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) of[m][v] = Vec<T>{};
    }
  }

  // One step: row m's value is value(m).
  template <typename Value>
  QANAT_INLINE void step(const T* b, Value value) {
    Vec<T> b_row[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) b_row[v] = load(b + v * kLanes<T>);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
      const Vec<T> a = splat(value(m));
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) of[m][v] = fma(a, b_row[v], of[m][v]);
    }
  }

  QANAT_INLINE void finish(const TileEnd<T>& end) const {
    if (end.cols == NV * kLanes<T>) {
      finish_whole(end);
    } else {
      finish_part(end);
    }
  }

 private:
  QANAT_INLINE void finish_whole(const TileEnd<T>& end) const {
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) {
        T* to = end.rows[m] + v * kLanes<T>;
        Vec<T> x = of[m][v];
        if (end.accumulate) x += load(to);
        if (end.bias != nullptr) x += load(end.bias + v * kLanes<T>);
        if (end.relu) x = select(x < Vec<T>{}, Vec<T>{}, x);
        store(to, x);
      }
    }
  }

  QANAT_INLINE void finish_part(const TileEnd<T>& end) const {
    T sums[M][NV * kLanes<T>];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) store(sums[m] + v * kLanes<T>, of[m][v]);
    }
    store_part(sums[0], M, NV * kLanes<T>, end);
  }
};

template <typename T, int M, int NV>
__attribute__((noinline)) void run_tile(const RowSteps<T>& steps, const TileEnd<T>& end) {
  Sums<T, M, NV> sums;
  sums.clear();
  for (int s = 0; s < steps.segments; ++s) {
    const T* a[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) a[m] = steps.a[m] + steps.a_offsets[s];
    const T* b = steps.b + steps.b_steps[s] * steps.b_stride;
    for (int64_t k = 0; k < steps.length; ++k) {
      sums.step(b, [&](int m) { return a[m][k]; });
      b += steps.b_stride;
    }
  }
  sums.finish(end);
}

template <typename T, int M, int NV>
__attribute__((noinline)) void run_tile(const ColumnSteps<T>& steps, const TileEnd<T>& end) {
  Sums<T, M, NV> sums;
  sums.clear();
  for (int s = 0; s < steps.segments; ++s) {
    const T* a = steps.a[s];
    const T* b = steps.b[s];
    for (int64_t k = 0; k < steps.length; ++k) {
      sums.step(b, [&](int m) { return a[m]; });
      a += steps.a_stride;
      b += steps.b_stride;
    }
  }
  sums.finish(end);
}

// run_tile for each number of rows and vectors.
template <typename T, typename Steps>
struct Tiles {
  using Run = void (*)(const Steps&, const TileEnd<T>&);

  static void run(int rows, const Steps& steps, const TileEnd<T>& end) {
    table.run[end.cols > kLanes<T>][rows - 1](steps, end);
  }

 private:
  struct Table {
    Run run[kTileVectors][kTileRows];
  };
  template <int M>
  static constexpr void fill(Table& table) {
    table.run[0][M - 1] = run_tile<T, M, 1>;
    table.run[1][M - 1] = run_tile<T, M, 2>;
    if constexpr (M > 1) fill<M - 1>(table);
  }
  static constexpr Table make() {
    Table table{};
    fill<kTileRows>(table);
    return table;
  }
  static constexpr Table table = make();
};

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_TILE_H_
