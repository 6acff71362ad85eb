#include "packages/kernels_cpu/native/micro/filter_gradient.h"

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"
#include "packages/kernels_cpu/native/micro/partial_sums.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/micro/winograd.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(FilterGradientTable, filter_gradient_table)

namespace {

constexpr double kMultiplicationsPerChunk = 1e6;
constexpr int64_t kMostChunks = 16;

// A smaller gradient is summed over parts of the pixels apart: chunks that each had some of its
// units would all read all of the input and of the output's gradient.
constexpr int64_t kSmallGradient = 64 << 10;

template <typename T>
const FilterGradientKernels<T>& kernels();
template <>
const FilterGradientKernels<float>& kernels<float>() {
  return QANAT_SIMD_SELECT(filter_gradient_table).f32;
}
template <>
const FilterGradientKernels<double>& kernels<double>() {
  return QANAT_SIMD_SELECT(filter_gradient_table).f64;
}

int64_t filter_size(const Conv2dShape& s) {
  return s.filter_height * s.filter_width * s.in_channels * s.out_channels;
}

// The division of the work: parts of the output rows, each summed apart, times parts of the units.
struct Grid {
  int64_t row_parts;
  int64_t unit_parts;
};

template <typename T>
Grid grid_for(const Conv2dShape& s) {
  const int64_t rows = s.batch * s.out_height;
  const int64_t units = ceil_div(s.out_channels, kernels<T>().tile_cols) * s.filter_height;
  const double multiplications = static_cast<double>(rows) * static_cast<double>(s.out_width) *
                                 static_cast<double>(filter_size(s));
  const double wanted = multiplications / kMultiplicationsPerChunk;
  const int64_t chunks =
      max64(1, wanted < kMostChunks ? static_cast<int64_t>(wanted) : kMostChunks);
  const int64_t unit_parts = filter_size(s) < kSmallGradient ? 1 : max64(1, min64(units, chunks));
  return {max64(1, min64(rows, chunks / unit_parts)), unit_parts};
}

// With one part of the rows the sum is the result; else each part has a place of its own.
template <typename T>
size_t partial_bytes(const Conv2dShape& s, Grid grid) {
  if (grid.row_parts == 1) return 0;
  return aligned_bytes(static_cast<size_t>(grid.row_parts * filter_size(s)) * sizeof(T));
}

template <typename T>
void clear(int64_t count, T* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = 0;
}

}  // namespace

template <typename T>
size_t conv2d_backward_filter_scratch_bytes(const Conv2dShape& shape, int threads) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (winograd_pays(shape)) return winograd_filter_gradient_scratch_bytes(shape, threads);
  }
  return partial_bytes<T>(shape, grid_for<T>(shape)) +
         Slots::bytes(kernels<T>().scratch_bytes(shape), threads);
}

template <typename T>
void conv2d_backward_filter(const Conv2dShape& shape, const T* input, const T* d_output,
                            T* d_filter, void* scratch, Parallel& parallel) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (winograd_pays(shape)) {
      return winograd_filter_gradient(shape, input, d_output, d_filter, scratch, parallel);
    }
  }
  const int64_t size = filter_size(shape);
  const int64_t rows = shape.batch * shape.out_height;
  const int64_t units = ceil_div(shape.out_channels, kernels<T>().tile_cols) * shape.filter_height;
  const Grid grid = grid_for<T>(shape);
  T* sums = grid.row_parts == 1 ? d_filter : static_cast<T*>(scratch);
  clear(grid.row_parts * size, sums);
  if (size == 0 || rows == 0 || shape.out_width == 0) return clear(size, d_filter);
  Slots slots(static_cast<char*>(scratch) + partial_bytes<T>(shape, grid),
              kernels<T>().scratch_bytes(shape), parallel.threads());
  const FilterGradient<T> gradient = {shape, input, d_output};
  parallel.for_each(grid.row_parts * grid.unit_parts, [&](int64_t chunk) {
    const Slot slot(slots);
    const int64_t row_part = chunk / grid.unit_parts;
    kernels<T>().add_rows(gradient, part_of(rows, grid.row_parts, row_part),
                          part_of(units, grid.unit_parts, chunk % grid.unit_parts),
                          sums + row_part * size, slot.get());
  });
  if (grid.row_parts > 1) add_parts(sums, grid.row_parts, size, d_filter, parallel);
}

template size_t conv2d_backward_filter_scratch_bytes<float>(const Conv2dShape&, int);
template size_t conv2d_backward_filter_scratch_bytes<double>(const Conv2dShape&, int);
template void conv2d_backward_filter(const Conv2dShape&, const float*, const float*, float*, void*,
                                     Parallel&);
template void conv2d_backward_filter(const Conv2dShape&, const double*, const double*, double*,
                                     void*, Parallel&);

}  // namespace qanat::micro
