// What the element of a resource tensor points to: an object of the host that outlives steps.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_RESOURCE_H_
#define PACKAGES_CORE_NATIVE_MEMORY_RESOURCE_H_

#include <atomic>
#include <cstdint>

namespace qanat {

// Counted by its holders: a container and each handle that is alive in a step.
class Resource {
 public:
  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // What it is, "variable" or the like; a class has one of its own.
  virtual const char* kind() const = 0;

 protected:
  virtual ~Resource() = default;

 private:
  std::atomic<int64_t> refs_{1};
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_RESOURCE_H_
