// What the element of a resource tensor points to: an object that several executions share.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_RESOURCE_H_
#define PACKAGES_CORE_NATIVE_KERNEL_RESOURCE_H_

#include <atomic>
#include <cstdint>

#include "packages/core/native/kernel/tensor_view.h"

namespace qanat {

// Counted by its holders: a container, other resources, and each handle that is alive in a step.
class Resource {
 public:
  // What it is, such as "variable": there is no RTTI, and a handle may be of anything.
  virtual const char* kind() const = 0;

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  virtual ~Resource() = default;

 private:
  std::atomic<int64_t> refs_{1};
};

// A value that a resource keeps from one execution to another. Whoever made it may fill it; once it
// is shared nobody writes to it.
class KeptValue : public Resource {
 public:
  const char* kind() const override { return "kept value"; }
  virtual const TensorView& view() const = 0;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_RESOURCE_H_
