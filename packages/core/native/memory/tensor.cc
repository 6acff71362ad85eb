#include "packages/core/native/memory/tensor.h"

#include <algorithm>

#include "packages/core/native/kernel/resource.h"

namespace qanat {

// Empty strings, null resources: all zero.
void Tensor::make_elements(size_t bytes) {
  std::memset(buffer->data, 0, bytes);
  buffer->kind = view.dtype == DType::kString ? BufferKind::kStrings : BufferKind::kResources;
  buffer->count = view.num_elements();
}

bool Tensor::copy_to(Tensor* copy, Allocator* allocator, Allocator::Cache* cache) const {
  if (!copy->allocate(view.dtype, view.shape, allocator, cache)) return false;
  copy_elements(view, copy->view);
  return true;
}

Status exhausted(DType dtype, const Shape& shape) {
  return error(StatusCode::kResourceExhausted,
               format("expected memory for %lld elements of %s, got none: it is exhausted",
                      static_cast<long long>(shape.num_elements()), dtype_name(dtype)));
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
