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

  // Gives this tensor memory for `shape`: plain elements undefined, others empty.
  Status allocate(DType dtype, const Shape& shape, Allocator* allocator,
                  Allocator::Cache* cache = nullptr);

  // A tensor of its own with the same value.
  Status copy_to(Tensor* copy, Allocator* allocator, Allocator::Cache* cache = nullptr) const;
};

// Copies elements between views of the same type and number of elements; `to` holds constructed ones.
void copy_elements(const TensorView& from, const TensorView& to);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_TENSOR_H_
