// Small integer tensors that say what to do: shapes, axes, indices, of dtype int32 or int64.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_INDICES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_INDICES_H_

#include "packages/kernels_cpu/native/messages.h"

namespace qanat::kernels_cpu {

// An int32 or int64 tensor read as int64. The kernel has checked its dtype (expect_indices).
class Indices {
 public:
  explicit Indices(const TensorView& view)
      : data_(view.data), wide_(view.dtype == DType::kInt64), size_(view.num_elements()) {}

  int64_t size() const { return size_; }
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_;
  bool wide_;
  int64_t size_;
};

// Writes position i of an int32 or int64 tensor, whose values the kernel knows to fit.
inline void set_index(const TensorView& view, int64_t i, int64_t value) {
  if (view.dtype == DType::kInt64) {
    view.as<int64_t>()[i] = value;
  } else {
    view.as<int32_t>()[i] = static_cast<int32_t>(value);
  }
}

// In all that follows the functions fail the context and return false where what they read is
// wrong, and `what` names input i in the message.

// Whether 0 <= value < bound, for the index at position `at` of what it was read from.
bool check_index(FailureSink& sink, const char* what, int64_t at, int64_t value, int64_t bound);
// Whether that holds for all of them.
bool check_indices(FailureSink& sink, const char* what, const Indices& indices, int64_t bound);

bool read_scalar(KernelContext& context, int i, const char* what, int64_t* value);

// A vector that is a shape: no negative dimension, and as many elements as int64 can count.
bool read_shape(KernelContext& context, int i, const char* what, Shape* shape);

// Whether input i is a vector of `size` elements.
bool expect_vector(KernelContext& context, int i, const char* what, int64_t size);

// An axis in [-rank, rank), as one in [0, rank).
bool resolve_axis(FailureSink& sink, int64_t axis, int rank, int* resolved);

// A scalar or vector of different axes of that rank: a bit for each.
bool read_axes(KernelContext& context, int i, int rank, uint32_t* axes);

// The product of dims [begin, end) of a shape without empty dimensions.
inline int64_t product(const Shape& shape, int begin, int end) {
  int64_t result = 1;
  for (int i = begin; i < end; ++i) result *= shape[i];
  return result;
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_INDICES_H_
