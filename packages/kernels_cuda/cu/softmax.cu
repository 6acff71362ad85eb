// Softmax and cross-entropy over the rows of a matrix [rows, classes]; a block works on a row.
#include "common.cuh"

template <typename T>
struct RowSums {
  T max, sum;  // the largest element, and the sum of exp(x - max)
};

template <typename T>
__device__ RowSums<T> row_sums(const T* x, Index classes) {
  T largest = x[0];
  for (Index i = threadIdx.x; i < classes; i += kBlock) largest = Larger()(largest, x[i]);
  largest = combine_block(largest, Larger());
  T sum = 0;
  for (Index i = threadIdx.x; i < classes; i += kBlock) sum += exp(x[i] - largest);
  return {largest, combine_block(sum, Plus())};
}

template <typename T>
__device__ void softmax(T* out, const T* logits, Index rows, Index classes) {
  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * classes;
    const RowSums<T> sums = row_sums(x, classes);
    for (Index i = threadIdx.x; i < classes; i += kBlock) {
      out[row * classes + i] = exp(x[i] - sums.max) / sums.sum;
    }
  }
}

template <typename T>
__device__ void log_softmax(T* out, const T* logits, Index rows, Index classes) {
  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * classes;
    const RowSums<T> sums = row_sums(x, classes);
    const T log_sum = log(sums.sum);
    for (Index i = threadIdx.x; i < classes; i += kBlock) {
      out[row * classes + i] = x[i] - sums.max - log_sum;
    }
  }
}

// A label of 0 adds 0, also where the log is -inf.
template <typename T>
__device__ void cross_entropy(T* loss, T* backprop, const T* logits, const T* labels, Index rows,
                              Index classes) {
  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * classes;
    const T* label = labels + row * classes;
    const RowSums<T> sums = row_sums(x, classes);
    const T log_sum = log(sums.sum);
    T total = 0;
    for (Index i = threadIdx.x; i < classes; i += kBlock) {
      if (label[i] != 0) total -= label[i] * (x[i] - sums.max - log_sum);
      backprop[row * classes + i] = exp(x[i] - sums.max) / sums.sum - label[i];
    }
    total = combine_block(total, Plus());
    if (threadIdx.x == 0) loss[row] = total;
  }
}

// The host has checked that each label is in [0, classes).
template <typename T, typename Label>
__device__ void sparse_cross_entropy(T* loss, T* backprop, const T* logits, const Label* labels,
                                     Index rows, Index classes) {
  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits + row * classes;
    const Index label = labels[row];
    const RowSums<T> sums = row_sums(x, classes);
    for (Index i = threadIdx.x; i < classes; i += kBlock) {
      backprop[row * classes + i] = exp(x[i] - sums.max) / sums.sum - T(i == label);
    }
    if (threadIdx.x == 0) loss[row] = log(sums.sum) - (x[label] - sums.max);
  }
}

#define QANAT_SPARSE(T, suffix, Label, label_suffix)                                            \
  KERNEL(sparse_cross_entropy_##suffix##_##label_suffix, T* loss, T* backprop, const T* logits, \
         const Label* labels, Index rows, Index classes) {                                      \
    sparse_cross_entropy(loss, backprop, logits, labels, rows, classes);                        \
  }
#define QANAT_KERNELS(T, suffix)                                                         \
  KERNEL(Softmax_##suffix, T* out, const T* logits, Index rows, Index classes) {         \
    softmax(out, logits, rows, classes);                                                 \
  }                                                                                      \
  KERNEL(LogSoftmax_##suffix, T* out, const T* logits, Index rows, Index classes) {      \
    log_softmax(out, logits, rows, classes);                                             \
  }                                                                                      \
  KERNEL(cross_entropy_##suffix, T* loss, T* backprop, const T* logits, const T* labels, \
         Index rows, Index classes) {                                                    \
    cross_entropy(loss, backprop, logits, labels, rows, classes);                        \
  }                                                                                      \
  QANAT_SPARSE(T, suffix, int, int32)                                                    \
  QANAT_SPARSE(T, suffix, Index, int64)
QANAT_FLOATS(QANAT_KERNELS)
#undef QANAT_KERNELS
#undef QANAT_SPARSE
