// Rows of softmax.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/micro/softmax_table.h"
#include "packages/kernels_cpu/native/simd/math.h"
#include "packages/kernels_cpu/native/simd/vec.h"

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

namespace {

// Vectors that are summed before their sum is added to the row's: long rows stay accurate.
constexpr int64_t kVectorsPerBlock = 64;

// Calls visit.template operator()<whole>(first column, count) for each vector of a row.
template <typename T, typename Visit>
QANAT_INLINE void for_each_vector(int64_t begin, int64_t end, Visit visit) {
  int64_t i = begin;
  for (; i + kLanes<T> <= end; i += kLanes<T>) visit.template operator()<true>(i, kLanes<T>);
  if (i < end) visit.template operator()<false>(i, end - i);
}

// The sum of term.template operator()<whole>(first column, count) over the vectors of a row.
template <typename T, typename Term>
QANAT_INLINE T sum_over(int64_t cols, Term term) {
  Vec<T> total = {};
  constexpr int64_t kBlock = kVectorsPerBlock * kLanes<T>;
  for (int64_t begin = 0; begin < cols; begin += kBlock) {
    Vec<T> block = {};
    for_each_vector<T>(begin, min64(cols, begin + kBlock), [&]<bool kWhole>(int64_t i, int64_t n) {
      block += term.template operator()<kWhole>(i, n);
    });
    total += block;
  }
  return sum<T>(total);
}

template <typename T>
QANAT_INLINE T largest_of(int64_t cols, const T* x) {
  constexpr T kLowest = -MathConstants<T>::kInfinity;
  Vec<T> largest = splat(kLowest);
  for_each_vector<T>(0, cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    largest = max(largest, load_lanes<kWhole>(x + i, n, kLowest));
  });
  return fold<T>(largest, [](T a, T b) { return a > b ? a : b; });
}

template <typename T>
QANAT_INLINE T scalar_log(T x) {
  return log<T>(splat(x))[0];
}

// exp(x - largest); lanes past the row are 0.
template <bool kWhole, typename T>
QANAT_INLINE Vec<T> exp_of(const T* x, int64_t count, T largest) {
  constexpr T kLowest = -MathConstants<T>::kInfinity;
  return exp<T>(load_lanes<kWhole>(x, count, kLowest) - splat(largest));
}

// to = exp(x - largest); returns the sum.
template <typename T>
QANAT_INLINE T store_exp(int64_t cols, const T* x, T largest, T* to) {
  return sum_over<T>(cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    const Vec<T> e = exp_of<kWhole>(x + i, n, largest);
    store_lanes<kWhole>(to + i, e, n);
    return e;
  });
}

template <typename T>
void softmax(int64_t cols, const T* logits, T* output) {
  const T total = store_exp(cols, logits, largest_of(cols, logits), output);
  for_each_vector<T>(0, cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    store_lanes<kWhole>(output + i, load_lanes<kWhole>(output + i, n) / splat(total), n);
  });
}

template <typename T>
void log_softmax(int64_t cols, const T* logits, T* output) {
  const T largest = largest_of(cols, logits);
  const T total = sum_over<T>(cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    return exp_of<kWhole>(logits + i, n, largest);
  });
  const T log_total = scalar_log(total);
  for_each_vector<T>(0, cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    const Vec<T> x = load_lanes<kWhole>(logits + i, n) - splat(largest);
    store_lanes<kWhole>(output + i, x - splat(log_total), n);
  });
}

template <typename T>
T cross_entropy(int64_t cols, const T* logits, const T* labels, T* d_logits) {
  const T largest = largest_of(cols, logits);
  const T log_total = scalar_log(sum_over<T>(cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    return exp_of<kWhole>(logits + i, n, largest);
  }));
  const T loss = sum_over<T>(cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    const Vec<T> label = load_lanes<kWhole>(labels + i, n);
    const Vec<T> x = load_lanes<kWhole>(logits + i, n) - splat(largest);
    const Vec<T> term = label * (splat(log_total) - x);
    return select<Vec<T>>(label == Vec<T>{}, Vec<T>{}, term);
  });
  const T total = store_exp(cols, logits, largest, d_logits);
  for_each_vector<T>(0, cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    const Vec<T> e = load_lanes<kWhole>(d_logits + i, n);
    store_lanes<kWhole>(d_logits + i, e / splat(total) - load_lanes<kWhole>(labels + i, n), n);
  });
  return loss;
}

template <typename T>
T sparse_cross_entropy(int64_t cols, const T* logits, int64_t label, T* d_logits) {
  const T largest = largest_of(cols, logits);
  const T x = logits[label] - largest;
  const T total = store_exp(cols, logits, largest, d_logits);
  for_each_vector<T>(0, cols, [&]<bool kWhole>(int64_t i, int64_t n) {
    store_lanes<kWhole>(d_logits + i, load_lanes<kWhole>(d_logits + i, n) / splat(total), n);
  });
  d_logits[label] -= 1;
  return scalar_log(total) - x;
}

template <typename T>
constexpr SoftmaxKernels<T> kernels() {
  if constexpr (!kComputes<T>) return {};
  return {softmax<T>, log_softmax<T>, cross_entropy<T>, sparse_cross_entropy<T>};
}

}  // namespace

extern const SoftmaxTable softmax_table;
const SoftmaxTable softmax_table = {kernels<float>(), kernels<double>()};

}  // namespace qanat::micro::QANAT_SIMD_NS
