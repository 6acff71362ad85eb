// Matrix product of quantised numbers: some panels of columns at a time, whose weights are packed
// as they are needed, so that scratch stays small beside the weights, and row by row, so that each
// line of the weights is read once.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/int8/checked_bytes.h"
#include "packages/kernels_cpu/native/micro/int8/products.h"
#include "packages/kernels_cpu/native/micro/int8/table.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(Int8Table, int8_table)

namespace {

constexpr int64_t kPairsAtATime = 128;  // their weights stay in the first-level cache
constexpr int64_t kRowsAtATime = 256;   // of A
constexpr int64_t kSumsAtATime = 32 << 10;
constexpr double kMultiplicationsPerChunk = 2e6;
constexpr int64_t kMostChunks = 16;
constexpr int64_t kRowsPerWidening = 64;

class Product {
 public:
  explicit Product(const Int8Gemm& gemm)
      : gemm_(gemm),
        table_(QANAT_SIMD_SELECT(int8_table)),
        panels_(ceil_div(gemm.n, table_.tile_cols)),
        panels_at_a_time_(
            max64(1, min64(panels_, kSumsAtATime / (rows_at_a_time() * table_.tile_cols)))),
        a_stride_(round_up(gemm.k, 2)) {}

  size_t scratch_bytes(int threads) const {
    return checked_sum({widened_bytes(), Slots::bytes(slot_bytes(), threads)});
  }

  void run(void* scratch, Parallel& parallel) {
    a_ = static_cast<int16_t*>(scratch);
    widen(parallel);
    Slots slots(static_cast<char*>(scratch) + widened_bytes(), slot_bytes(), parallel.threads());
    const double multiplications =
        static_cast<double>(gemm_.m) * static_cast<double>(gemm_.n) * static_cast<double>(gemm_.k);
    const double wanted = multiplications / kMultiplicationsPerChunk + 1;
    const int64_t most = wanted < kMostChunks ? static_cast<int64_t>(wanted) : kMostChunks;
    const int64_t chunks = min64(panels_, most);
    parallel.for_each(chunks, [&](int64_t chunk) {
      const Slot slot(slots);
      const Range mine = part_of(panels_, chunks, chunk);
      for (int64_t panel = mine.begin; panel < mine.end; panel += panels_at_a_time_) {
        const Range panels = {panel, min64(mine.end, panel + panels_at_a_time_)};
        for (int64_t row = 0; row < gemm_.m; row += kRowsAtATime) {
          run_panels(panels, {row, min64(gemm_.m, row + kRowsAtATime)}, slot.get());
        }
      }
    });
  }

 private:
  size_t widened_bytes() const {
    return checked_bytes({gemm_.m, a_stride_, static_cast<int64_t>(sizeof(int16_t))});
  }

  int64_t rows_at_a_time() const { return max64(1, min64(gemm_.m, kRowsAtATime)); }

  size_t slot_bytes() const {
    const int64_t rows = kPairsAtATime + panels_at_a_time_ * rows_at_a_time();
    return static_cast<size_t>(rows * table_.tile_cols) * sizeof(int32_t);
  }

  void widen(Parallel& parallel) {
    parallel.for_each(ceil_div(gemm_.m, kRowsPerWidening), [&](int64_t chunk) {
      const int64_t end = min64(gemm_.m, (chunk + 1) * kRowsPerWidening);
      for (int64_t row = chunk * kRowsPerWidening; row < end; ++row) {
        int16_t* to = a_ + row * a_stride_;
        table_.widen(gemm_.a + row * gemm_.k, gemm_.k, gemm_.a_zero_point, to);
        if (a_stride_ != gemm_.k) to[gemm_.k] = 0;
      }
    });
  }

  void run_panels(Range panels, Range rows, void* memory) {
    int32_t* packed = static_cast<int32_t*>(memory);
    int32_t* sums = packed + kPairsAtATime * table_.tile_cols;
    const int64_t panel_size = rows.size() * table_.tile_cols;
    // With k = 0 one block without pairs clears the sums.
    int64_t step = 0;
    do {
      const int64_t steps = min64(2 * kPairsAtATime, gemm_.k - step);
      for (int64_t i = 0; i < panels.size(); ++i) {
        const int64_t col = (panels.begin + i) * table_.tile_cols;
        table_.pack(gemm_.b + step * gemm_.n + col, gemm_.n, steps, cols_from(col), packed);
        multiply(rows, step, ceil_div(steps, 2), packed, sums + i * panel_size);
      }
      step += steps;
    } while (step < gemm_.k);
    for (int64_t i = 0; i < panels.size(); ++i) {
      const int64_t col = (panels.begin + i) * table_.tile_cols;
      table_.finish(sums + i * panel_size, rows.size(), col, cols_from(col), gemm_.end,
                    gemm_.c + rows.begin * gemm_.n + col, gemm_.n);
    }
  }

  int cols_from(int64_t col) const {
    return static_cast<int>(min64(table_.tile_cols, gemm_.n - col));
  }

  void multiply(Range rows, int64_t step, int64_t pairs, const int32_t* packed, int32_t* sums) {
    const int64_t tiles = ceil_div(rows.size(), table_.tile_rows);
    for (int64_t i = 0; i < tiles; ++i) {
      const Range tile = part_of(rows.size(), tiles, i);
      const int16_t* a[kInt8MostTileRows];
      for (int64_t m = 0; m < tile.size(); ++m) {
        a[m] = a_ + (rows.begin + tile.begin + m) * a_stride_;
      }
      table_.multiply({static_cast<int>(tile.size()), 1, pairs, a, &step, packed,
                       sums + tile.begin * table_.tile_cols, step > 0});
    }
  }

  const Int8Gemm& gemm_;
  const Int8Table& table_;
  const int64_t panels_;
  const int64_t panels_at_a_time_;
  const int64_t a_stride_;
  int16_t* a_ = nullptr;
};

}  // namespace

size_t int8_gemm_scratch_bytes(const Int8Gemm& gemm, int threads) {
  return Product(gemm).scratch_bytes(threads);
}

void int8_gemm(const Int8Gemm& gemm, void* scratch, Parallel& parallel) {
  if (gemm.m == 0 || gemm.n == 0) return;
  Product(gemm).run(scratch, parallel);
}

}  // namespace qanat::micro
