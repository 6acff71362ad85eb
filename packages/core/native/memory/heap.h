// The arena: large regions of the system's memory, cut into blocks of any size.
#ifndef PACKAGES_CORE_NATIVE_MEMORY_HEAP_H_
#define PACKAGES_CORE_NATIVE_MEMORY_HEAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packages/core/native/memory/buffer.h"

namespace qanat {

// Two-level segregated fit: the free blocks hang in lists by size, sixteen to each doubling; two
// bitmaps find the smallest list that serves in constant time; neighbours that are free are merged.
// Sizes are rounded up to a list's lower bound (at most 1/16 more), so a freed block always serves
// the same request again, and a repeated step touches no fresh page. Not thread-safe.
class Heap {
 public:
  // `limit`: bytes it may take from the system.
  explicit Heap(size_t limit) : limit_(limit) {}
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // A block of at least `bytes` bytes; null where memory is exhausted.
  Buffer* allocate(size_t bytes);
  void release(Buffer* block);

  size_t limit() const { return limit_; }
  size_t reserved() const { return reserved_; }
  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }  // the largest in_use() so far
  // How often memory was asked of the system.
  int64_t fresh_pages() const { return fresh_pages_; }

 private:
  static constexpr int kSplit = 4;  // log2 of the lists to a doubling
  static constexpr int kLists = 1 << kSplit;
  static constexpr int kDoublings = 40;

  struct Region {
    char* start;
    size_t size;
  };
  struct List {
    int doubling, index;
  };

  static List list_of(size_t units);
  static size_t round_up(size_t units);

  Buffer* find(size_t units);
  bool grow(size_t bytes);
  void return_free_regions();
  void insert(Buffer* block);
  void remove(Buffer* block);
  void split(Buffer* block, size_t bytes);

  const size_t limit_;
  size_t reserved_ = 0;
  size_t in_use_ = 0;
  size_t peak_ = 0;
  int64_t fresh_pages_ = 0;
  std::vector<Region> regions_;
  uint64_t doublings_ = 0;           // bit d: some list of doubling d is not empty
  uint32_t lists_[kDoublings] = {};  // bit i: list i of the doubling is not empty
  Buffer* heads_[kDoublings][kLists] = {};
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_MEMORY_HEAP_H_
