// The owner of a tensor's memory: a counted header.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_BUFFER_H_
#define PACKAGES_CORE_NATIVE_MEMORY_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/tensor_view.h"

namespace qanat {

class Allocator;

enum class BufferKind : uint8_t {
  kPlain,
  kStrings,    // `count` elements of type Bytes, destroyed with the buffer
  kResources,  // `count` elements of type Resource*, each one reference or null
  // Somebody else's memory, lent for one step (a fed NumPy array): read only, and whatever outlives
  // the step (a variable, a fetched value) copies it.
  kBorrowed,
};

// Stands in front of its memory in the allocator's arena, one cache line; so making a buffer is one
// allocation, and the arena needs no other book-keeping. A lent buffer is a header alone.
struct alignas(kAlignment) Buffer {
  std::atomic<int32_t> refs{1};
  BufferKind kind = BufferKind::kPlain;
  // The rest belongs to the allocator.
  uint8_t size_class = 0;
  bool is_free = false;
  void* data = nullptr;
  size_t capacity = 0;  // bytes at data
  int64_t count = 0;
  Allocator* allocator = nullptr;  // null for a lent one
  Buffer* previous = nullptr;      // the block before this one in memory
  Buffer* free_next = nullptr;
  Buffer* free_previous = nullptr;

  void ref() { refs.fetch_add(1, std::memory_order_relaxed); }
  // Whether the caller, who holds a reference, holds the only one and may write.
  bool exclusive() const {
    return refs.load(std::memory_order_acquire) == 1 && kind != BufferKind::kBorrowed;
  }
  // Gives a reference back; true where it was the last, and the buffer is to be released.
  bool drop() {
    return refs.load(std::memory_order_acquire) == 1 ||
           refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
};
static_assert(sizeof(Buffer) == kAlignment);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_BUFFER_H_
