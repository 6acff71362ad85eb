// Where all memory of tensors comes from.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_
#define PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "packages/core/native/memory/buffer.h"
#include "packages/core/native/memory/heap.h"

namespace qanat {

struct MemoryStats {
  size_t in_use = 0;
  size_t peak = 0;
  size_t reserved = 0;
  int64_t fresh_pages = 0;  // how often memory was asked of the system
};

// Small blocks come from lists by size (powers of two), large ones from a heap under a lock. A thread
// that runs a step borrows a Cache, its own stock of small blocks, and so takes no lock for them.
// Nothing goes back to the system but when memory runs out. Thread-safe.
class Allocator {
 public:
  static constexpr int kClasses = 8;
  static constexpr size_t kLargestSmall = kAlignment << (kClasses - 1);

  class Cache {
    friend class Allocator;
    struct List {
      Buffer* head = nullptr;
      int count = 0;
    };
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
    Buffer* buffer = take(bytes, cache);
    if (buffer == nullptr) return nullptr;
    buffer->refs.store(1, std::memory_order_relaxed);
    buffer->kind = BufferKind::kPlain;
    return buffer;
  }

  // One for a thread that runs a step, until it is given back; its stock is kept for the next.
  Cache* borrow_cache();
  void return_cache(Cache* cache);

  MemoryStats stats();

 private:
  friend void release(Buffer* buffer, Cache* cache);
  static constexpr size_t kSlab = size_t{64} << 10;

  // Around a fork, so that the child does not inherit a lock that nobody will open.
  static void hold_process_lock();
  static void free_process_lock();

  static constexpr size_t class_bytes(int size_class) { return kAlignment << size_class; }
  // How many blocks a cache takes from or gives to the shared lists at once.
  static constexpr int batch(int size_class) { return size_class < 4 ? 16 : 64 >> (size_class - 2); }

  Buffer* take(size_t bytes, Cache* cache);
  Buffer* take_large(size_t bytes);
  bool refill(int size_class, Cache::List* list, int count);
  bool carve_slab(int size_class);
  void free(Buffer* buffer, Cache* cache);
  void drain(int size_class, Cache::List* list, int keep);

  std::mutex mutex_;  // guards all below
  Heap heap_;
  std::array<Cache::List, kClasses> shared_;
  std::vector<std::unique_ptr<Cache>> caches_;
  std::vector<Cache*> idle_caches_;
};

// Ends a buffer whose last reference was dropped: destroys its elements, frees the memory.
void release(Buffer* buffer, Allocator::Cache* cache = nullptr);

inline void unref(Buffer* buffer, Allocator::Cache* cache = nullptr) {
  if (buffer->drop()) release(buffer, cache);
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_ALLOCATOR_H_
