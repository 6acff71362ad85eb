#include "packages/kernels_cpu/native/micro/softmax.h"

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/softmax_table.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(SoftmaxTable, softmax_table)

namespace {

constexpr int64_t kValuesPerChunk = 16 << 10;
constexpr int64_t kMostChunks = 64;

template <typename T>
const SoftmaxKernels<T>& kernels();
template <>
const SoftmaxKernels<float>& kernels<float>() {
  return QANAT_SIMD_SELECT(softmax_table).f32;
}
template <>
const SoftmaxKernels<double>& kernels<double>() {
  return QANAT_SIMD_SELECT(softmax_table).f64;
}

// Calls run(row, offset of the row's first value).
template <typename Run>
void for_each_row(int64_t rows, int64_t cols, Parallel& parallel, Run run) {
  const int64_t wanted = max64(1, min64(kMostChunks, rows * cols / kValuesPerChunk));
  const int64_t chunks = min64(rows, wanted);
  if (chunks == 0) return;
  parallel.for_each(chunks, [&](int64_t chunk) {
    const Range part = part_of(rows, chunks, chunk);
    for (int64_t row = part.begin; row < part.end; ++row) run(row, row * cols);
  });
}

}  // namespace

template <typename T>
void softmax(int64_t rows, int64_t cols, const T* logits, T* output, Parallel& parallel) {
  for_each_row(rows, cols, parallel,
               [&](int64_t, int64_t at) { kernels<T>().softmax(cols, logits + at, output + at); });
}

template <typename T>
void log_softmax(int64_t rows, int64_t cols, const T* logits, T* output, Parallel& parallel) {
  for_each_row(rows, cols, parallel, [&](int64_t, int64_t at) {
    kernels<T>().log_softmax(cols, logits + at, output + at);
  });
}

template <typename T>
void softmax_cross_entropy(int64_t rows, int64_t cols, const T* logits, const T* labels, T* loss,
                           T* d_logits, Parallel& parallel) {
  for_each_row(rows, cols, parallel, [&](int64_t row, int64_t at) {
    loss[row] = kernels<T>().cross_entropy(cols, logits + at, labels + at, d_logits + at);
  });
}

template <typename T, typename L>
void sparse_softmax_cross_entropy(int64_t rows, int64_t cols, const T* logits, const L* labels,
                                  T* loss, T* d_logits, Parallel& parallel) {
  for_each_row(rows, cols, parallel, [&](int64_t row, int64_t at) {
    loss[row] = kernels<T>().sparse_cross_entropy(cols, logits + at, labels[row], d_logits + at);
  });
}

#define QANAT_INSTANTIATE(T)                                                                     \
  template void softmax(int64_t, int64_t, const T*, T*, Parallel&);                              \
  template void log_softmax(int64_t, int64_t, const T*, T*, Parallel&);                          \
  template void softmax_cross_entropy(int64_t, int64_t, const T*, const T*, T*, T*, Parallel&);  \
  template void sparse_softmax_cross_entropy(int64_t, int64_t, const T*, const int32_t*, T*, T*, \
                                             Parallel&);                                         \
  template void sparse_softmax_cross_entropy(int64_t, int64_t, const T*, const int64_t*, T*, T*, \
                                             Parallel&);

QANAT_INSTANTIATE(float)
QANAT_INSTANTIATE(double)

}  // namespace qanat::micro
