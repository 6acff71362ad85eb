// Where all memory of tensors comes from.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_
#define PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "packages/core/native/base/poison.h"
#include "packages/core/native/memory/buffer.h"
#include "packages/core/native/memory/heap.h"

namespace qanat {

struct MemoryStats {
  size_t in_use = 0;
  size_t peak = 0;
  size_t reserved = 0;
  int64_t fresh_pages = 0;  // how often memory was asked of the system
};

// Small blocks come from lists by size (powers of two), large ones from a heap under a lock. A
// thread that runs a step borrows a Cache, its own stock of small blocks, and so takes no lock for
// them. Nothing goes back to the system but when memory runs out. Thread-safe.
class Allocator {
  struct List {
    Buffer* head = nullptr;
    int count = 0;

    void push(Buffer* buffer) {
      buffer->free_next = head;
      head = buffer;
      ++count;
    }
    Buffer* pop() {  // null where it is empty
      Buffer* buffer = head;
      if (buffer == nullptr) return nullptr;
      head = buffer->free_next;
      --count;
      return buffer;
    }
  };

 public:
  static constexpr int kClasses = 8;
  static constexpr size_t kLargestSmall = kAlignment << (kClasses - 1);

  class Cache {
    friend class Allocator;
    std::array<List, kClasses> lists_;
  };

  // `limit`: bytes it may hold at most; 0 for what the machine or its container has.
  explicit Allocator(size_t limit = 0);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // The process's own: tensors outlive sessions, so their memory must, too. Never destroyed.
  static Allocator& process();

  // A plain buffer with one reference and undefined contents, aligned to kAlignment; null where
  // memory is exhausted, however absurd the size.
  Buffer* allocate(size_t bytes, Cache* cache = nullptr) {
    Buffer* buffer = nullptr;
    if (bytes <= kLargestSmall && cache != nullptr) {
      buffer = cache->lists_[size_class_of(bytes)].pop();
    }
    if (buffer == nullptr) buffer = take(bytes, cache);
    if (buffer == nullptr) return nullptr;
    unpoison(buffer->data, bytes);
    buffer->refs.store(1, std::memory_order_relaxed);
    buffer->kind = BufferKind::kPlain;
    return buffer;
  }

  // Ends a buffer of this allocator whose last reference was dropped.
  void release(Buffer* buffer, Cache* cache = nullptr) {
    if (buffer->kind != BufferKind::kPlain) destroy_elements(buffer);
    poison(buffer->data, buffer->capacity);
    const int size_class = buffer->size_class;
    if (size_class == kClasses || cache == nullptr) return give_back(buffer);
    List* list = &cache->lists_[size_class];
    list->push(buffer);
    if (list->count > 2 * batch(size_class)) drain(size_class, list);
  }

  // One for a thread that runs a step, until it is given back; its stock is kept for the next.
  Cache* borrow_cache();
  void return_cache(Cache* cache);

  MemoryStats stats();

 private:
  static constexpr size_t kSlab = size_t{64} << 10;

  // Around a fork, so that the child does not inherit a lock that nobody will open.
  static void hold_process_lock();
  static void free_process_lock();

  static constexpr size_t class_bytes(int size_class) { return kAlignment << size_class; }
  static constexpr int size_class_of(size_t bytes) {
    return bytes <= kAlignment ? 0 : std::bit_width((bytes - 1) / kAlignment);
  }
  // How many blocks a cache takes from or gives to the shared lists at once.
  static constexpr int batch(int size_class) {
    return size_class < 4 ? 16 : 64 >> (size_class - 2);
  }

  static void destroy_elements(Buffer* buffer);
  Buffer* take(size_t bytes, Cache* cache);
  Buffer* take_large(size_t bytes);
  void give_back(Buffer* buffer);
  bool carve_slab(int size_class);
  void drain(int size_class, List* list);

  std::mutex mutex_;  // guards all below
  Heap heap_;
  size_t slab_overhead_ = 0;
  std::array<List, kClasses> shared_;
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Cache*> idle_caches_;
};

inline void unref(Buffer* buffer, Allocator::Cache* cache = nullptr) {
  if (buffer->drop() && buffer->allocator != nullptr) buffer->allocator->release(buffer, cache);
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_
