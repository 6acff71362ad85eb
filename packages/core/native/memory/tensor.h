// A value: a view and a share in the buffer it looks at.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_TENSOR_H_
#define PACKAGES_CORE_NATIVE_MEMORY_TENSOR_H_

#include <cstring>
#include <utility>

#include "packages/core/native/base/status.h"
#include "packages/core/native/memory/allocator.h"

namespace qanat {

// A step keeps its values in these, too, and then drops buffers by hand into its thread's cache: so
// the members are open.
struct Tensor {
  TensorView view;
  Buffer* buffer = nullptr;  // null: no value

  Tensor() = default;
  Tensor(const Tensor& other) : view(other.view), buffer(other.buffer) {
    if (buffer != nullptr) buffer->ref();
  }
  Tensor(Tensor&& other) noexcept
      : view(other.view), buffer(std::exchange(other.buffer, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    view = other.view;
    std::swap(buffer, other.buffer);
    return *this;
  }
  ~Tensor() { reset(); }

  explicit operator bool() const { return buffer != nullptr; }
  void reset(Allocator::Cache* cache = nullptr) {
    if (buffer != nullptr) unref(std::exchange(buffer, nullptr), cache);
  }

  // Gives this tensor memory for `shape`: plain elements undefined, others empty. False where
  // memory is exhausted.
  bool allocate(DType dtype, const Shape& shape, Allocator* allocator,
                Allocator::Cache* cache = nullptr) {
    reset(cache);
    size_t bytes = 0;
    if (__builtin_mul_overflow(shape.num_elements(), dtype_size(dtype), &bytes)) return false;
    buffer = allocator->allocate(bytes, cache);
    if (buffer == nullptr) return false;
    view.data = buffer->data;
    view.dtype = dtype;
    view.shape = shape;
    if (!is_plain(dtype)) make_elements(bytes);
    return true;
  }

  // A tensor of its own with the same value. False where memory is exhausted.
  bool copy_to(Tensor* copy, Allocator* allocator, Allocator::Cache* cache = nullptr) const;

 private:
  void make_elements(size_t bytes);
};

// What to say where there is no memory for a tensor.
Status exhausted(DType dtype, const Shape& shape);

// Copies elements between views of the same type and number of elements; `to` holds constructed
// ones.
void copy_elements(const TensorView& from, const TensorView& to);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_TENSOR_H_
