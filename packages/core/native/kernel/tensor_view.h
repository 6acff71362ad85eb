// What a kernel sees of a tensor: type, shape and memory; never its owner.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_TENSOR_VIEW_H_
#define PACKAGES_CORE_NATIVE_KERNEL_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "packages/core/native/kernel/dtype.h"

namespace qanat {

inline constexpr int kMaxRank = 8;

// A full shape: every dimension known and >= 0. The product of the dimensions fits int64 wherever a
// host or kernel made the shape with add(), which tells.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) {
    for (int64_t dim : dims) add(dim);
  }
  Shape(const int64_t* dims, int rank) {
    for (int i = 0; i < rank; ++i) add(dims[i]);
  }

  int rank() const { return rank_; }
  int64_t dim(int axis) const { return dims_[axis]; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  const int64_t* dims() const { return dims_; }
  // 1 for a scalar; 0 where any dimension is 0.
  int64_t num_elements() const { return num_elements_; }

  // Appends a dimension. False, and the shape is left as it was, where the rank or the number of
  // elements would be too large or dim is negative.
  bool add(int64_t dim) {
    int64_t product = 0;
    if (rank_ == kMaxRank || dim < 0 || __builtin_mul_overflow(num_elements_, dim, &product))
      return false;
    dims_[rank_++] = dim;
    num_elements_ = product;
    return true;
  }

  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (dims_[i] != other.dims_[i]) return false;
    }
    return true;
  }

 private:
  int64_t num_elements_ = 1;
  int32_t rank_ = 0;
  int64_t dims_[kMaxRank];
};

// Row-major, contiguous, aligned to kAlignment. `data` may be null where there are no elements.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kInvalid;
  Shape shape;

  int rank() const { return shape.rank(); }
  int64_t dim(int axis) const { return shape.dim(axis); }
  int64_t num_elements() const { return shape.num_elements(); }
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * dtype_size(dtype); }

  // T must be the C++ type of dtype.
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

inline constexpr size_t kAlignment = 64;

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_TENSOR_VIEW_H_
