#include "packages/core/native/executor/resources.h"

namespace qanat {

bool Variable::initialized() {
  std::lock_guard<std::mutex> lock(mutex_);
  return value_.buffer != nullptr;
}

Status Variable::uninitialized() const {
  return error(StatusCode::kFailedPrecondition,
               "expected variable \"" + name_ +
                   "\" to be initialised, got no value: run its initializer first");
}

Status Variable::read(Tensor* value) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (value_.buffer == nullptr) return uninitialized();
  *value = value_;
  return {};
}

Status Variable::assign(const Tensor& value, Allocator* allocator) {
  if (value.view.dtype != dtype_) {
    return error(StatusCode::kInvalidArgument,
                 format("expected a value of %s for variable \"%s\", got %s", dtype_name(dtype_),
                        name_.c_str(), dtype_name(value.view.dtype)));
  }
  Tensor kept;
  if (value.buffer->kind == BufferKind::kBorrowed) {
    if (!value.copy_to(&kept, allocator)) return exhausted(dtype_, value.view.shape);
  } else {
    kept = value;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  std::swap(value_, kept);
  return {};
}

Status Variable::lock(TensorView** value, Allocator* allocator) {
  mutex_.lock();
  Status status;
  if (value_.buffer == nullptr) {
    status = uninitialized();
  } else if (!value_.buffer->exclusive()) {
    Tensor copy;
    if (!value_.copy_to(&copy, allocator)) status = exhausted(dtype_, value_.view.shape);
    if (status.ok()) std::swap(value_, copy);
  }
  if (!status.ok()) {
    mutex_.unlock();
    return status;
  }
  *value = &value_.view;
  return {};
}

Resources::~Resources() {
  for (const auto& [name, container] : containers_) unref_all(container);
}

Status Resources::find_or_make(std::string_view container, std::string_view name, const char* kind,
                               const std::function<Resource*()>& make, Resource** found) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto place = containers_.find(container);
  if (place == containers_.end()) place = containers_.try_emplace(std::string(container)).first;
  auto entry = place->second.find(name);
  if (entry == place->second.end()) {
    entry = place->second.try_emplace(std::string(name), make()).first;
  }
  if (std::string_view(entry->second->kind()) != kind) {
    return error(StatusCode::kInvalidArgument,
                 format("expected \"%s\" to be a %s, got a %s of that name", entry->first.c_str(),
                        kind, entry->second->kind()));
  }
  *found = entry->second;
  (*found)->ref();
  return {};
}

Status Resources::variable(std::string_view container, std::string_view name, DType dtype,
                           Variable** variable) {
  Resource* found = nullptr;
  const auto make = [&] { return new Variable(std::string(name), dtype); };
  Status status = find_or_make(container, name, Variable::kKind, make, &found);
  if (!status.ok()) return status;
  auto* held = static_cast<Variable*>(found);
  if (held->dtype() != dtype) {
    status = error(StatusCode::kInvalidArgument,
                   format("expected variable \"%s\" to be of %s, got one of %s",
                          held->name().c_str(), dtype_name(dtype), dtype_name(held->dtype())));
    held->unref();
    return status;
  }
  *variable = held;
  return {};
}

void Resources::clear(std::string_view container) {
  Container forgotten;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    auto place = containers_.find(container);
    if (place == containers_.end()) return;
    forgotten = std::move(place->second);
    containers_.erase(place);
  }
  unref_all(forgotten);
}

void Resources::clear_all() {
  decltype(containers_) forgotten;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    forgotten.swap(containers_);
  }
  for (const auto& [name, container] : forgotten) unref_all(container);
}

void Resources::unref_all(const Container& container) {
  for (const auto& [name, resource] : container) resource->unref();
}

}  // namespace qanat
