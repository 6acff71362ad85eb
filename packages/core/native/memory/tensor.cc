#include "packages/core/native/memory/tensor.h"

#include <algorithm>

#include "packages/core/native/memory/resource.h"

namespace qanat {

Status Tensor::allocate(DType dtype, const Shape& shape, Allocator* allocator,
                        Allocator::Cache* cache) {
  reset(cache);
  size_t bytes = 0;
  if (!__builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), dtype_size(dtype),
                              &bytes)) {
    buffer = allocator->allocate(bytes, cache);
  }
  if (buffer == nullptr) {
    return error(StatusCode::kResourceExhausted,
                 format("expected memory for %lld elements of %s, got none: it is exhausted",
                        static_cast<long long>(shape.num_elements()), dtype_name(dtype)));
  }
  if (!is_plain(dtype)) {
    std::memset(buffer->data, 0, bytes);  // empty strings, null resources
    buffer->kind = dtype == DType::kString ? BufferKind::kStrings : BufferKind::kResources;
    buffer->count = shape.num_elements();
  }
  view.data = buffer->data;
  view.dtype = dtype;
  view.shape = shape;
  return {};
}

Status Tensor::copy_to(Tensor* copy, Allocator* allocator, Allocator::Cache* cache) const {
  Status status = copy->allocate(view.dtype, view.shape, allocator, cache);
  if (status.ok()) copy_elements(view, copy->view);
  return status;
}

void copy_elements(const TensorView& from, const TensorView& to) {
  if (from.num_elements() == 0) return;
  if (is_plain(from.dtype)) {
    std::memcpy(to.data, from.data, from.num_bytes());
  } else if (from.dtype == DType::kString) {
    std::copy_n(from.as<Bytes>(), from.num_elements(), to.as<Bytes>());
  } else {
    for (int64_t i = 0; i < from.num_elements(); ++i) {
      Resource* resource = from.as<Resource*>()[i];
      if (resource != nullptr) resource->ref();
      if (to.as<Resource*>()[i] != nullptr) to.as<Resource*>()[i]->unref();
      to.as<Resource*>()[i] = resource;
    }
  }
}

}  // namespace qanat
