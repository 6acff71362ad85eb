#include "packages/kernels_cpu/native/micro/gemm.h"

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/gemm_table.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(GemmTable, gemm_table)

namespace {

// A chunk shall be worth handing to another thread, and chunks shall be few enough that packing the
// same rows and columns in several of them costs little.
constexpr double kMultiplicationsPerChunk = 2e6;
constexpr int64_t kMostChunks = 16;

const GemmKernels<float>& kernels_for(const Gemm<float>&) {
  return QANAT_SIMD_SELECT(gemm_table).f32;
}

const GemmKernels<double>& kernels_for(const Gemm<double>&) {
  return QANAT_SIMD_SELECT(gemm_table).f64;
}

// How C is divided into chunks.
struct Grid {
  int64_t row_parts;
  int64_t col_parts;
};

// Of all divisions into about as many chunks, the one that packs the fewest elements: a row of A is
// packed once in each part of the columns, a column of B once in each part of the rows.
template <typename T>
Grid grid_for(const Gemm<T>& gemm, const GemmKernels<T>& kernels) {
  const double multiplications = static_cast<double>(gemm.m) * static_cast<double>(gemm.n) *
                                 static_cast<double>(max64(gemm.k, 1));
  if (multiplications < 2 * kMultiplicationsPerChunk) return {1, 1};
  const double wanted = multiplications / kMultiplicationsPerChunk;
  const int64_t chunks = wanted < kMostChunks ? static_cast<int64_t>(wanted) : kMostChunks;
  Grid best = {1, 1};
  double best_cost = 0;
  for (int64_t rows = 1; rows <= min64(chunks, ceil_div(gemm.m, kernels.tile_rows)); ++rows) {
    const int64_t cols = min64(ceil_div(chunks, rows), ceil_div(gemm.n, kernels.tile_cols));
    const double packed = static_cast<double>(rows) * static_cast<double>(gemm.n) +
                          static_cast<double>(cols) * static_cast<double>(gemm.m);
    const double cost = packed * static_cast<double>(chunks) / static_cast<double>(rows * cols);
    if (rows == 1 || cost < best_cost) {
      best = {rows, cols};
      best_cost = cost;
    }
  }
  return best;
}

template <typename T>
size_t slot_bytes(const Gemm<T>& gemm, const GemmKernels<T>& kernels, Grid grid) {
  const int64_t rows = round_up(ceil_div(gemm.m, grid.row_parts), kernels.tile_rows);
  const int64_t cols = round_up(ceil_div(gemm.n, grid.col_parts), kernels.tile_cols);
  return kernels.block_scratch_bytes(rows, cols, gemm.k);
}

}  // namespace

template <typename T>
size_t gemm_scratch_bytes(const Gemm<T>& gemm, int threads) {
  const GemmKernels<T>& kernels = kernels_for(gemm);
  return Slots::bytes(slot_bytes(gemm, kernels, grid_for(gemm, kernels)), threads);
}

template <typename T>
void gemm(const Gemm<T>& gemm, void* scratch, Parallel& parallel) {
  if (gemm.m == 0 || gemm.n == 0) return;
  const GemmKernels<T>& kernels = kernels_for(gemm);
  const Grid grid = grid_for(gemm, kernels);
  Slots slots(scratch, slot_bytes(gemm, kernels, grid), parallel.threads());
  parallel.for_each(grid.row_parts * grid.col_parts, [&](int64_t chunk) {
    const Slot slot(slots);
    kernels.block(gemm, part_of(gemm.m, grid.row_parts, chunk / grid.col_parts, kernels.tile_rows),
                  part_of(gemm.n, grid.col_parts, chunk % grid.col_parts, kernels.tile_cols),
                  slot.get());
  });
}

template size_t gemm_scratch_bytes(const Gemm<float>&, int);
template size_t gemm_scratch_bytes(const Gemm<double>&, int);
template void gemm(const Gemm<float>&, void*, Parallel&);
template void gemm(const Gemm<double>&, void*, Parallel&);

}  // namespace qanat::micro
