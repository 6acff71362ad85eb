#include "packages/kernels_cpu/native/micro/pool.h"

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/pool_table.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(PoolTable, pool_table)

namespace {

// Values read in a chunk, and channels of an image that are worth a chunk of their own.
constexpr int64_t kValuesPerChunk = 32 << 10;
constexpr int64_t kMostChunks = 64;
constexpr int64_t kChannelsPerChunk = 64;

template <typename T>
const PoolKernels<T>& kernels();
template <>
const PoolKernels<float>& kernels<float>() {
  return QANAT_SIMD_SELECT(pool_table).f32;
}
template <>
const PoolKernels<double>& kernels<double>() {
  return QANAT_SIMD_SELECT(pool_table).f64;
}

template <typename Run>
void for_each_part(int64_t total, int64_t values, Parallel& parallel, Run run) {
  const int64_t wanted = max64(1, min64(kMostChunks, values / kValuesPerChunk));
  const int64_t chunks = min64(total, wanted);
  if (chunks == 0) return;
  parallel.for_each(chunks, [&](int64_t chunk) { run(part_of(total, chunks, chunk)); });
}

template <typename Run>
void for_each_row_part(const PoolShape& s, Parallel& parallel, Run run) {
  const int64_t rows = s.batch * s.out_height;
  const int64_t values = rows * s.out_width * s.channels * s.window_h * s.window_w;
  for_each_part(rows, values, parallel, run);
}

// Calls run(image, channels); an image's channels are divided where there are many.
template <typename Run>
void for_each_image(const PoolShape& s, Parallel& parallel, Run run) {
  const int64_t parts = max64(1, s.channels / kChannelsPerChunk);
  const int64_t values = s.batch * s.in_height * s.in_width * s.channels;
  for_each_part(s.batch * parts, values, parallel, [&](Range range) {
    for (int64_t i = range.begin; i < range.end; ++i) {
      run(i / parts, part_of(s.channels, parts, i % parts, kChannelsPerChunk / 4));
    }
  });
}

}  // namespace

template <typename T>
void max_pool(const PoolShape& shape, const T* input, T* output, Parallel& parallel) {
  for_each_row_part(shape, parallel,
                    [&](Range rows) { kernels<T>().max_rows(shape, input, output, rows); });
}

template <typename T>
void max_pool_backward(const PoolShape& shape, const T* input, const T* output, const T* d_output,
                       T* d_input, Parallel& parallel) {
  for_each_image(shape, parallel, [&](int64_t image, Range channels) {
    kernels<T>().max_backward(shape, input, output, d_output, d_input, image, channels);
  });
}

template <typename T>
void avg_pool(const PoolShape& shape, const T* input, T* output, Parallel& parallel) {
  for_each_row_part(shape, parallel,
                    [&](Range rows) { kernels<T>().avg_rows(shape, input, output, rows); });
}

template <typename T>
void avg_pool_backward(const PoolShape& shape, const T* d_output, T* d_input, Parallel& parallel) {
  for_each_image(shape, parallel, [&](int64_t image, Range channels) {
    kernels<T>().avg_backward(shape, d_output, d_input, image, channels);
  });
}

#define QANAT_INSTANTIATE(T)                                                                      \
  template void max_pool(const PoolShape&, const T*, T*, Parallel&);                              \
  template void max_pool_backward(const PoolShape&, const T*, const T*, const T*, T*, Parallel&); \
  template void avg_pool(const PoolShape&, const T*, T*, Parallel&);                              \
  template void avg_pool_backward(const PoolShape&, const T*, T*, Parallel&);

QANAT_INSTANTIATE(float)
QANAT_INSTANTIATE(double)

}  // namespace qanat::micro
