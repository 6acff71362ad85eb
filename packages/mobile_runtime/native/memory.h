// Memory that a model takes from the heap while it is loaded, and gives back as a whole.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_MEMORY_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_MEMORY_H_

#include <cstddef>

namespace qanat::mobile {

class Memory {
 public:
  // At most `limit` bytes in all.
  explicit Memory(size_t limit) : limit_(limit) {}
  ~Memory() { release(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zeros, aligned to kAlignment; null where there is no memory.
  void* allocate(size_t bytes);
  // As many zeroed Ts, which need no constructor.
  template <typename T>
  T* array(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
    return static_cast<T*>(allocate(bytes));
  }
  void release();

  size_t used() const { return used_; }
  size_t left() const { return limit_ - used_; }

 private:
  struct Block;

  const size_t limit_;
  size_t used_ = 0;
  Block* blocks_ = nullptr;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_MEMORY_H_
