#include "packages/kernels_cpu/native/tensor_array.h"

#include <algorithm>

#include "packages/kernels_cpu/native/binary_spans.h"
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/messages.h"

namespace qanat::kernels_cpu {

bool ElementRule::admits(const Shape& shape) const {
  if (!known_rank) return true;
  if (shape.rank() != static_cast<int>(dims.size())) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (dims[static_cast<size_t>(i)] >= 0 && dims[static_cast<size_t>(i)] != shape[i]) return false;
  }
  return true;
}

bool ElementRule::only(Shape* shape) const {
  return known_rank &&
         std::all_of(dims.begin(), dims.end(), [&](int64_t dim) { return shape->add(dim); });
}

TensorArray::TensorArray(int64_t size, TensorArrayOptions options)
    : options_(std::move(options)), elements_(static_cast<size_t>(size)) {}

TensorArray::~TensorArray() {
  for (const auto& [source, gradient] : gradients_) gradient->unref();
}

int64_t TensorArray::size() {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(elements_.size());
}

bool TensorArray::element_shape(Shape* shape) {
  std::lock_guard<std::mutex> lock(mutex_);
  *shape = Shape();
  return options_.rule.only(shape);
}

void TensorArray::clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Element& element : elements_) {
    element.value = Kept();
    element.dropped = true;
  }
}

bool TensorArray::grow(KernelContext& context, int64_t size) {
  if (size <= static_cast<int64_t>(elements_.size())) return true;
  if (!options_.dynamic_size || size > kMostElements) {
    context.invalid("expected an index below %zu, the size of TensorArray \"%s\", got %lld",
                    elements_.size(), options_.name.c_str(), static_cast<long long>(size - 1));
    return false;
  }
  elements_.resize(static_cast<size_t>(size));
  return true;
}

bool TensorArray::check(KernelContext& context, int64_t index, const TensorView& value) {
  const char* name = options_.name.c_str();
  if (index < 0) {
    context.invalid("expected an index of TensorArray \"%s\" of 0 or more, got %lld", name,
                    static_cast<long long>(index));
    return false;
  }
  if (value.dtype != options_.rule.dtype) {
    context.invalid("expected elements of %s for TensorArray \"%s\", got %s",
                    dtype_name(options_.rule.dtype), name, dtype_name(value.dtype));
    return false;
  }
  if (!options_.rule.admits(value.shape)) {
    context.invalid("expected elements of TensorArray \"%s\" to have its element_shape, got %s",
                    name, text(value.shape).c_str());
    return false;
  }
  return true;
}

bool TensorArray::write(KernelContext& context, int64_t index, Kept value) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!check(context, index, value.view())) return false;
  if (!grow(context, index + 1)) return false;
  Element& element = elements_[static_cast<size_t>(index)];
  const Shape& shape = value.view().shape;
  if (element.shape != nullptr && options_.sums && !(*element.shape == shape)) {
    context.invalid(
        "expected a gradient of shape %s for element %lld of TensorArray \"%s\", got %s",
        text(*element.shape).c_str(), static_cast<long long>(index), options_.name.c_str(),
        text(shape).c_str());
    return false;
  }
  if (element.value && options_.sums) {
    Kept sum(context.keep_new(value.view().dtype, shape));
    if (!sum) return false;
    const DType dtype = options_.rule.dtype;
    const BinarySpans add(BinaryOp::kAdd, dtype, dtype, 0);
    if (!add.exist()) {
      context.invalid("expected gradients that can be added, got %s", dtype_name(dtype));
      return false;
    }
    add.run(kSame, element.value.view().data, value.view().data, sum.view().data,
            shape.num_elements());
    element.value = std::move(sum);
    return true;
  }
  if (element.value || element.dropped) {
    context.invalid(
        "expected each element of TensorArray \"%s\" to be written once, got %lld again",
        options_.name.c_str(), static_cast<long long>(index));
    return false;
  }
  if (options_.identical_element_shapes) {
    options_.rule.known_rank = true;
    options_.rule.dims.assign(shape.dims(), shape.dims() + shape.rank());
  }
  element.shape = std::make_unique<Shape>(shape);
  element.value = std::move(value);
  return true;
}

bool TensorArray::read(KernelContext& context, int64_t index, Kept* value) {
  std::lock_guard<std::mutex> lock(mutex_);
  const char* name = options_.name.c_str();
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) {
    context.invalid("expected an index in [0, %zu) of TensorArray \"%s\", got %lld",
                    elements_.size(), name, static_cast<long long>(index));
    return false;
  }
  Element& element = elements_[static_cast<size_t>(index)];
  if (!element.value && options_.sums) return zeros(context, index, value);
  if (!element.value) {
    context.invalid(element.dropped
                        ? "expected one read of element %lld of TensorArray \"%s\", got "
                          "a second: it was made with clear_after_read"
                        : "expected element %lld of TensorArray \"%s\" to be written "
                          "before it is read, got none",
                    static_cast<long long>(index), name);
    return false;
  }
  *value = element.value;
  if (options_.clear_after_read) {
    element.value = Kept();
    element.dropped = true;
  }
  return true;
}

bool TensorArray::zeros(KernelContext& context, int64_t index, Kept* value) const {
  const Element& element = elements_[static_cast<size_t>(index)];
  Shape shape;
  if (element.shape != nullptr) {
    shape = *element.shape;
  } else if (!options_.rule.only(&shape)) {
    context.invalid(
        "expected a gradient of element %lld of TensorArray \"%s\", got none, and the "
        "element's shape is not known",
        static_cast<long long>(index), options_.name.c_str());
    return false;
  }
  *value = Kept(context.keep_new(options_.rule.dtype, shape));
  if (!*value) return false;
  zero_elements(value->view());
  return true;
}

TensorArray* TensorArray::gradient(const std::string& source) {
  std::lock_guard<std::mutex> lock(mutex_);
  TensorArray*& found = gradients_[source];
  if (found == nullptr) {
    TensorArrayOptions options = options_;
    options.sums = true;
    options.clear_after_read = false;
    options.dynamic_size = false;
    found = new TensorArray(static_cast<int64_t>(elements_.size()), std::move(options));
    for (size_t i = 0; i < elements_.size(); ++i) {
      if (elements_[i].shape == nullptr) continue;
      found->elements_[i].shape = std::make_unique<Shape>(*elements_[i].shape);
    }
  }
  found->ref();
  return found;
}

}  // namespace qanat::kernels_cpu
