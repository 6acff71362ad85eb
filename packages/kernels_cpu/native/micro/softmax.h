// Softmax, its logarithm, and softmax cross-entropy with its gradient, row by row.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_H_

#include <cstdint>

#include "packages/core/native/kernel/parallel.h"

namespace qanat::micro {

// In all that follows T is float or double, a matrix is [rows, cols] without gaps, and either size
// may be 0. Each row's largest value is subtracted first, so that large logits do not overflow. A
// row that holds a NaN or +infinity gives NaN. No scratch is needed, and results are the same bit
// for bit for any number of threads.

// output = exp(logits) / sum(exp(logits)). output may be logits.
template <typename T>
void softmax(int64_t rows, int64_t cols, const T* logits, T* output, Parallel& parallel);

// output = logits - log(sum(exp(logits))). output may be logits.
template <typename T>
void log_softmax(int64_t rows, int64_t cols, const T* logits, T* output, Parallel& parallel);

// loss[r] = -sum over c of labels[r, c] * log_softmax(logits)[r, c], where a label of 0 contributes
// 0, and d_logits = softmax(logits) - labels, which is the gradient of the loss where the labels of
// a row sum to 1. d_logits may be logits.
template <typename T>
void softmax_cross_entropy(int64_t rows, int64_t cols, const T* logits, const T* labels, T* loss,
                           T* d_logits, Parallel& parallel);

// The same with one class a row in place of a row of labels. Every label is in [0, cols): the
// caller has checked it. L is int32_t or int64_t.
template <typename T, typename L>
void sparse_softmax_cross_entropy(int64_t rows, int64_t cols, const T* logits, const L* labels,
                                  T* loss, T* d_logits, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_SOFTMAX_H_
