// A product of matrices by tiles in shared memory. What is multiplied need not lie in memory as a
// matrix: a factor is a function of its row and column.
#pragma once
#include "common.cuh"

constexpr int kTile = 64;    // rows and columns of the output, a block
constexpr int kDepth = 16;   // of what is in shared memory at once
constexpr int kPatch = 4;    // rows and columns of the output, a thread
constexpr int kThreadsAcross = kTile / kPatch;
static_assert(kThreadsAcross * kThreadsAcross == kBlock, "a thread for each patch of the tile");

struct Extent {
  Index rows, columns, depth;
  Index splits;  // pieces of the depth, a product each: out is [splits, rows, columns]
};

// What is done to a sum where it is stored.
template <typename T>
struct Epilogue {
  const T* bias;  // a row, or null
  Index relu;

  __device__ T apply(T sum, Index column) const {
    if (bias != nullptr) sum += bias[column];
    return relu && sum <= 0 ? T(0) : sum;  // NaN stays
  }
};

// Fills a tile [kDepth][kTile]; `at(across, deep)` gives an element, outside it is 0. Neighbouring
// threads read what lies side by side.
template <typename T, typename At>
__device__ void load_tile(T (*tile)[kTile + 1], Index across, Index most_across, Index deep,
                          Index most_deep, bool deep_is_contiguous, const At& at) {
  for (int e = threadIdx.x; e < kTile * kDepth; e += kBlock) {
    const int i = deep_is_contiguous ? e / kDepth : e % kTile;
    const int k = deep_is_contiguous ? e % kDepth : e / kTile;
    const bool inside = across + i < most_across && deep + k < most_deep;
    tile[k][i] = inside ? at(across + i, deep + k) : T(0);
  }
}

// out = a b. A: at(row, k), B: at(k, column). Blocks: tiles of rows x tiles of columns x splits.
template <typename T, typename A, typename B>
__device__ void multiply(T* out, const A& a, const B& b, const Extent& extent,
                         const Epilogue<T>& epilogue) {
  __shared__ T a_tile[kDepth][kTile + 1];
  __shared__ T b_tile[kDepth][kTile + 1];
  const Index row = Index(blockIdx.x) * kTile, column = Index(blockIdx.y) * kTile;
  const Index piece = (extent.depth + extent.splits - 1) / extent.splits;
  const Index begin = blockIdx.z * piece;
  const Index end = begin + piece < extent.depth ? begin + piece : extent.depth;
  // A thread's rows and columns are kThreadsAcross apart, so that neighbours use neighbours.
  const int down = threadIdx.x / kThreadsAcross, across = threadIdx.x % kThreadsAcross;
  T sums[kPatch][kPatch] = {};
  for (Index k = begin; k < end; k += kDepth) {
    load_tile(a_tile, row, extent.rows, k, end, a.rows_are_contiguous(),
              [&](Index i, Index deep) { return a.at(i, deep); });
    load_tile(b_tile, column, extent.columns, k, end, b.columns_are_contiguous(),
              [&](Index i, Index deep) { return b.at(deep, i); });
    __syncthreads();
    for (int deep = 0; deep < kDepth; ++deep) {
      for (int i = 0; i < kPatch; ++i) {
        const T x = a_tile[deep][down + i * kThreadsAcross];
        for (int j = 0; j < kPatch; ++j) {
          sums[i][j] += x * b_tile[deep][across + j * kThreadsAcross];
        }
      }
    }
    __syncthreads();
  }
  out += blockIdx.z * extent.rows * extent.columns;
  for (int i = 0; i < kPatch; ++i) {
    const Index r = row + down + i * kThreadsAcross;
    for (int j = 0; j < kPatch; ++j) {
      const Index c = column + across + j * kThreadsAcross;
      if (r < extent.rows && c < extent.columns) {
        out[r * extent.columns + c] = epilogue.apply(sums[i][j], c);
      }
    }
  }
}

// A matrix in memory: transposed where the strides say so.
template <typename T>
struct Matrix {
  const T* data;
  Index row_stride, column_stride;

  __device__ T at(Index row, Index column) const {
    return data[row * row_stride + column * column_stride];
  }
  // Whether a row's elements lie side by side, and whether it is the columns that are read so: as
  // the factor on the left its depth is its columns, on the right its rows.
  __device__ bool rows_are_contiguous() const { return column_stride == 1; }
  __device__ bool columns_are_contiguous() const { return row_stride == 1; }
};
