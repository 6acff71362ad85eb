// State that outlives steps: variables, queues and the like, by container and name.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_RESOURCES_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_RESOURCES_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "packages/core/native/base/status.h"
#include "packages/core/native/kernel/resource.h"
#include "packages/core/native/memory/tensor.h"

namespace qanat {

// A value that steps share. A read takes a share in the buffer; a writer that finds the buffer
// shared writes to a copy, so nobody sees a value change that he has read.
class Variable final : public Resource {
 public:
  static constexpr const char* kKind = "variable";

  Variable(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  const char* kind() const override { return kKind; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }

  bool initialized();
  Status read(Tensor* value);
  // Shares `value`'s buffer, or copies it where it is lent.
  Status assign(const Tensor& value, Allocator* allocator);

  // Between lock() and unlock() the caller alone may read and write *value.
  Status lock(TensorView** value, Allocator* allocator);
  void unlock() { mutex_.unlock(); }

 private:
  Status uninitialized() const;

  const std::string name_;
  const DType dtype_;
  std::mutex mutex_;
  Tensor value_;  // guarded by mutex_
};

// Thread-safe.
class Resources {
 public:
  Resources() = default;
  ~Resources();
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  // The resource of that name, made where there was none; the caller gets a reference of his own.
  // Fails where it is of another kind.
  Status find_or_make(std::string_view container, std::string_view name, const char* kind,
                      const std::function<Resource*()>& make, Resource** found);
  // The variable, made without a value where there was none.
  Status variable(std::string_view container, std::string_view name, DType dtype,
                  Variable** variable);
  // Forgets what the container holds. Steps that run keep what they have.
  void clear(std::string_view container);
  void clear_all();

 private:
  using Container = std::map<std::string, Resource*, std::less<>>;
  static void unref_all(const Container& container);

  std::mutex mutex_;
  std::map<std::string, Container, std::less<>> containers_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_RESOURCES_H_
