// What of the kernels on quantised numbers is compiled once per instruction set.
//
// Products are made of pairs: one instruction multiplies two neighbouring int16 by two others and
// adds both products to an int32. Activations are widened to int16, with their zero point taken
// off; weights are packed so that the same column of two successive rows makes a pair.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_TABLE_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_TABLE_H_

#include <cstdint>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/int8/end.h"
#include "packages/kernels_cpu/native/micro/pool.h"

namespace qanat::micro {

// No instruction set has larger tiles.
inline constexpr int kInt8MostTileRows = 14;
inline constexpr int kInt8MostTileCols = 32;

// Sums of products: row m of the tile reads, in segment s, the pairs from a[m] + a_offsets[s], and
// the rows of `b` go on from one segment to the next.
struct Int8Tile {
  int rows;  // 1 ... tile_rows
  int64_t segments;
  int64_t pairs;  // of a segment
  const int16_t* const* a;
  const int64_t* a_offsets;
  const int32_t* b;  // [segments * pairs, tile_cols]
  int32_t* sums;     // [rows, tile_cols]
  bool accumulate;   // whether the products are added to what is there
};

struct Int8Table {
  int tile_rows;
  int tile_cols;
  // to[i] = from[i] - zero_point.
  void (*widen)(const int8_t* from, int64_t n, int32_t zero_point, int16_t* to);
  // The rows of `cols` weights each, 1 ... tile_cols of them, as ceil(rows / 2) rows of tile_cols
  // pairs; what is missing is 0.
  void (*pack)(const int8_t* weights, int64_t stride, int64_t rows, int cols, int32_t* to);
  void (*multiply)(const Int8Tile& tile);
  // Stores `cols` channels, from `first` on, of each of the rows of sums, which lie tile_cols
  // apart.
  void (*finish)(const int32_t* sums, int64_t rows, int64_t first, int cols, const Int8End& end,
                 int8_t* to, int64_t stride);
  void (*max_rows)(const PoolShape& shape, const int8_t* input, int8_t* output, Range rows);
  void (*quantize)(const float* from, int64_t n, float scale, int32_t zero_point, int8_t* to);
  void (*dequantize)(const int8_t* from, int64_t n, float scale, int32_t zero_point, float* to);
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_TABLE_H_
