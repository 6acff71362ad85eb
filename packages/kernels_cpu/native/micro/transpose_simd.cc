// Transposition of a matrix, by square tiles.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/pack.h"
#include "packages/kernels_cpu/native/micro/transpose_table.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// Only copied, so any type of this size will do.
struct Bytes16 {
  uint64_t half[2];
};

template <typename T>
void transpose_part(const T* from, Range rows, Range cols, int64_t from_stride, int64_t to_stride,
                    T* to) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t col = cols.begin; col < cols.end; ++col) {
      to[col * to_stride + row] = from[row * from_stride + col];
    }
  }
}

// Tiles that fit the first-level cache, so that each line of either matrix is fetched once.
template <typename T>
void transpose_blocked(const void* from, int64_t rows, int64_t cols, int64_t from_stride,
                       int64_t to_stride, void* to) {
  constexpr int64_t kTile = 64 / static_cast<int64_t>(sizeof(T)) * (sizeof(T) > 8 ? 4 : 1);
  for (int64_t row = 0; row < rows; row += kTile) {
    for (int64_t col = 0; col < cols; col += kTile) {
      transpose_part(static_cast<const T*>(from), {row, min64(rows, row + kTile)},
                     {col, min64(cols, col + kTile)}, from_stride, to_stride, static_cast<T*>(to));
    }
  }
}

// Tiles of as many vectors as a vector has lanes, transposed in registers.
template <typename T>
void transpose_in_registers(const void* from_memory, int64_t rows, int64_t cols,
                            int64_t from_stride, int64_t to_stride, void* to_memory) {
  constexpr int64_t kN = kLanes<T>;
  const T* from = static_cast<const T*>(from_memory);
  T* to = static_cast<T*>(to_memory);
  const int64_t whole_rows = rows / kN * kN;
  const int64_t whole_cols = cols / kN * kN;
  for (int64_t row = 0; row < whole_rows; row += kN) {
    for (int64_t col = 0; col < whole_cols; col += kN) {
      Vec<T> tile[kN];
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) tile[i] = load(from + (row + i) * from_stride + col);
      transpose_square<T>(tile);
#pragma GCC unroll 16
      for (int i = 0; i < kN; ++i) store(to + (col + i) * to_stride + row, tile[i]);
    }
  }
  transpose_part(from, {0, whole_rows}, {whole_cols, cols}, from_stride, to_stride, to);
  transpose_part(from, {whole_rows, rows}, {0, cols}, from_stride, to_stride, to);
}

}  // namespace

extern const TransposeTable transpose_table;
const TransposeTable transpose_table = {
    transpose_blocked<uint8_t>, transpose_blocked<uint16_t>, transpose_in_registers<int32_t>,
    transpose_in_registers<int64_t>, transpose_blocked<Bytes16>};

}  // namespace qanat::micro::QANAT_SIMD_NS
