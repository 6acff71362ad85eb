// One block of a matrix product, by packed panels and register tiles, or row by row of B where it
// has few rows.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/gemm_table.h"
#include "packages/kernels_cpu/native/micro/pack.h"
#include "packages/kernels_cpu/native/micro/thin_product.h"
#include "packages/kernels_cpu/native/micro/tile.h"

namespace qanat::micro::QANAT_SIMD_NS {
namespace {

// Steps of k that are done at a time, so that a panel of B stays in the first-level cache, and rows
// of A that are packed at a time, so that they stay in the second.
constexpr int64_t kStepsAtATime = 256;
constexpr int64_t kRowsAtATime = 16 * kTileRows;

// Rows of A are read in place as long as each is read by so few panels that packing them costs
// more.
constexpr int64_t kPanelsInPlace = 8;

// Blocks that are equal, and not much longer than kStepsAtATime; one where k is 0.
constexpr int64_t k_blocks(int64_t k) { return max64(1, (k + kStepsAtATime / 4) / kStepsAtATime); }

constexpr int64_t k_block_size(int64_t k) { return ceil_div(k, k_blocks(k)); }

template <typename T>
class Block {
 public:
  Block(const Gemm<T>& gemm, Range rows, Range cols, void* scratch)
      : gemm_(gemm),
        rows_(rows),
        cols_(cols),
        scratch_(static_cast<T*>(scratch)),
        packed_b_(scratch_),
        packed_a_(packed_b_ + packed_b_size(cols.size(), gemm.k)),
        a_in_place_(gemm.a.col_stride == 1 && cols.size() <= kPanelsInPlace * kTileCols<T>),
        b_in_place_(gemm.b.col_stride == 1 && rows.size() <= 2 * kTileRows) {}

  static int64_t scratch_size(int64_t rows, int64_t cols, int64_t k) {
    const int64_t sums = min64(rows, kThinRows) * round_up(cols, kTileCols<T>);
    return max64(packed_b_size(cols, k) + packed_a_size(rows, k), sums);
  }

  static int64_t packed_b_size(int64_t cols, int64_t k) {
    return k_block_size(k) * round_up(cols, kTileCols<T>);
  }

  static int64_t packed_a_size(int64_t rows, int64_t k) {
    return k_block_size(k) * min64(rows, kRowsAtATime);
  }

  void run() {
    const int64_t blocks = k_blocks(gemm_.k);
    for (int64_t i = 0; i < blocks; ++i) {
      steps_ = part_of(gemm_.k, blocks, i);
      const int64_t thin = thin_cols();
      if (thin > 0) run_thin(thin);
      run_panels({cols_.begin + thin, cols_.end});
    }
  }

 private:
  // The first columns that are done row by row of B; what fills no panel is left to the tiles.
  int64_t thin_cols() const {
    if (rows_.size() > kThinRows || gemm_.b.col_stride != 1) return 0;
    return cols_.size() / kTileCols<T> * kTileCols<T>;
  }

  void run_thin(int64_t cols) {
    const MatrixView<T> a = {
        gemm_.a.data + rows_.begin * gemm_.a.row_stride + steps_.begin * gemm_.a.col_stride,
        gemm_.a.row_stride, gemm_.a.col_stride};
    multiply_thin<T>(rows_.size(), {steps_.size(), cols, a,
                                    gemm_.b.data + steps_.begin * gemm_.b.row_stride + cols_.begin,
                                    gemm_.b.row_stride, scratch_});
    for (int64_t m = 0; m < rows_.size(); ++m) {
      for (int64_t i = 0; i < cols; i += kTileCols<T>) {
        Sums<T, 1, kTileVectors> sums;
#pragma GCC unroll 4
        for (int v = 0; v < kTileVectors; ++v) {
          sums.of[0][v] = load(scratch_ + m * cols + i + v * kLanes<T>);
        }
        T* const to = c_at(rows_.begin + m, cols_.begin + i);
        sums.finish(tile_end(&to, cols_.begin + i, kTileCols<T>));
      }
    }
  }

  void run_panels(Range cols) {
    if (cols.size() == 0) return;
    for (int64_t col = cols.begin; col < cols.end; col += kTileCols<T>) pack_b(col);
    const int64_t row_blocks = ceil_div(rows_.size(), kRowsAtATime);
    for (int64_t j = 0; j < row_blocks; ++j) run_rows(part_of(rows_.size(), row_blocks, j), cols);
  }

  // `rows` counts from rows_.begin.
  void run_rows(Range rows, Range cols) {
    const int64_t tiles = ceil_div(rows.size(), kTileRows);
    if (!a_in_place_) {
      for (int64_t i = 0; i < tiles; ++i) pack_a(rows.begin, part_of(rows.size(), tiles, i));
    }
    for (int64_t col = cols.begin; col < cols.end; col += kTileCols<T>) {
      for (int64_t i = 0; i < tiles; ++i) {
        run_tile_at(rows.begin, part_of(rows.size(), tiles, i), col);
      }
    }
  }

  void run_tile_at(int64_t first_row, Range rows, int64_t col) {
    T* c_rows[kTileRows];
    const int64_t row = rows_.begin + first_row + rows.begin;
    const int count = static_cast<int>(rows.size());
    for (int m = 0; m < count; ++m) c_rows[m] = c_at(row + m, col);
    const TileEnd<T> end = tile_end(c_rows, col, panel_cols(col));
    const T* b = b_panel(col);
    const int64_t b_stride =
        reads_b_in_place(col) ? gemm_.b.row_stride : panel_width<T>(panel_cols(col));
    if (a_in_place_) {
      const T* a[kTileRows];
      for (int m = 0; m < count; ++m) {
        a[m] = gemm_.a.data + (row + m) * gemm_.a.row_stride + steps_.begin;
      }
      constexpr int64_t kNoOffset = 0;
      Tiles<T, RowSteps<T>>::run(count, {1, steps_.size(), a, &kNoOffset, b, &kNoOffset, b_stride},
                                 end);
    } else {
      const T* a = packed_a_ + rows.begin * steps_.size();
      Tiles<T, ColumnSteps<T>>::run(count, {1, steps_.size(), &a, count, &b, b_stride}, end);
    }
  }

  T* c_at(int64_t row, int64_t col) const { return gemm_.c + row * gemm_.c_row_stride + col; }

  TileEnd<T> tile_end(T* const* rows, int64_t col, int cols) const {
    const bool last = steps_.end == gemm_.k;
    return {rows, cols, gemm_.accumulate || steps_.begin > 0,
            last && gemm_.bias != nullptr ? gemm_.bias + col : nullptr, last && gemm_.relu};
  }

  void pack_a(int64_t first_row, Range rows) {
    const MatrixView<T>& a = gemm_.a;
    const int count = static_cast<int>(rows.size());
    const T* from = a.data + (rows_.begin + first_row + rows.begin) * a.row_stride +
                    steps_.begin * a.col_stride;
    pack_panel(from, steps_.size(), a.col_stride, count, a.row_stride, count,
               packed_a_ + rows.begin * steps_.size());
  }

  void pack_b(int64_t col) {
    if (reads_b_in_place(col)) return;
    const MatrixView<T>& b = gemm_.b;
    pack_panel(b.data + steps_.begin * b.row_stride + col * b.col_stride, steps_.size(),
               b.row_stride, panel_cols(col), b.col_stride, panel_width<T>(panel_cols(col)),
               packed_b_ + (col - cols_.begin) * steps_.size());
  }

  // A panel whose columns do not fill its vectors is packed, lest a vector reads past B.
  bool reads_b_in_place(int64_t col) const {
    return b_in_place_ && panel_cols(col) == panel_width<T>(panel_cols(col));
  }

  const T* b_panel(int64_t col) const {
    return reads_b_in_place(col) ? gemm_.b.data + steps_.begin * gemm_.b.row_stride + col
                                 : packed_b_ + (col - cols_.begin) * steps_.size();
  }

  int panel_cols(int64_t col) const {
    return static_cast<int>(min64(kTileCols<T>, cols_.end - col));
  }

  const Gemm<T>& gemm_;
  const Range rows_;
  const Range cols_;
  T* const scratch_;
  T* const packed_b_;
  T* const packed_a_;
  const bool a_in_place_;
  const bool b_in_place_;
  Range steps_ = {0, 0};
};

template <typename T>
void block(const Gemm<T>& gemm, Range rows, Range cols, void* scratch) {
  Block<T>(gemm, rows, cols, scratch).run();
}

template <typename T>
size_t block_scratch_bytes(int64_t rows, int64_t cols, int64_t k) {
  return sizeof(T) * static_cast<size_t>(Block<T>::scratch_size(rows, cols, k));
}

template <typename T>
constexpr GemmKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {kTileRows, kTileCols<T>, block<T>, block_scratch_bytes<T>};
}

}  // namespace

extern const GemmTable gemm_table;
const GemmTable gemm_table = {kernels<float>(), kernels<double>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
