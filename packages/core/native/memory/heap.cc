#include "packages/core/native/memory/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

#include "packages/core/native/base/poison.h"

namespace qanat {
namespace {

constexpr size_t kUnit = kAlignment;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLargestGrowth = size_t{64} << 20;  // regions double up to here

Buffer* next_of(const Buffer* block) {
  return reinterpret_cast<Buffer*>(static_cast<char*>(block->data) + block->capacity);
}

// A header at `memory` for the `capacity` bytes behind it.
Buffer* make_block(void* memory, size_t capacity, Buffer* previous) {
  unpoison(memory, sizeof(Buffer));
  Buffer* block = new (memory) Buffer;
  block->data = block + 1;
  block->capacity = capacity;
  block->previous = previous;
  return block;
}

// `size` bytes that begin at a huge page; null where the system has none.
char* map_region(size_t size) {
  void* memory = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* start = static_cast<char*>(memory);
  char* aligned = start + (-reinterpret_cast<uintptr_t>(start) & (kHugePage - 1));
  if (aligned != start) munmap(start, static_cast<size_t>(aligned - start));
  const size_t behind = static_cast<size_t>(start + kHugePage - aligned);
  if (behind > 0) munmap(aligned + size, behind);
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

}  // namespace

Heap::~Heap() {
  for (const Region& region : regions_) {
    unpoison(region.start, region.size);
    munmap(region.start, region.size);
  }
}

// The list that holds free blocks of this many units: the last whose lower bound is not above it.
Heap::List Heap::list_of(size_t units) {
  if (units < kLists) return {0, static_cast<int>(units)};
  const int top = std::bit_width(units) - 1;
  return {top - kSplit + 1, static_cast<int>(units >> (top - kSplit)) - kLists};
}

// The smallest lower bound of a list that is not below `units`.
size_t Heap::round_up(size_t units) {
  if (units < kLists) return units;
  const int shift = std::bit_width(units) - 1 - kSplit;
  const size_t step = size_t{1} << shift;
  return (units + step - 1) & ~(step - 1);
}

Buffer* Heap::allocate(size_t bytes) {
  if (bytes > limit_) return nullptr;
  const size_t units = round_up(std::max<size_t>(1, (bytes + kUnit - 1) / kUnit));
  Buffer* block = find(units);
  if (block == nullptr) {
    if (!grow(units * kUnit)) return nullptr;
    block = find(units);
  }
  remove(block);
  split(block, units * kUnit);
  in_use_ += block->capacity + sizeof(Buffer);
  peak_ = std::max(peak_, in_use_);
  return block;
}

void Heap::release(Buffer* block) {
  in_use_ -= block->capacity + sizeof(Buffer);
  Buffer* next = next_of(block);
  if (next->is_free) {
    remove(next);
    block->capacity += sizeof(Buffer) + next->capacity;
    poison(next, sizeof(Buffer));
  }
  Buffer* previous = block->previous;
  if (previous != nullptr && previous->is_free) {
    remove(previous);
    previous->capacity += sizeof(Buffer) + block->capacity;
    poison(block, sizeof(Buffer));
    block = previous;
  }
  next_of(block)->previous = block;
  poison(block->data, block->capacity);
  insert(block);
}

// `units` is a lower bound of a list, so each block of that list and of those above it serves.
Buffer* Heap::find(size_t units) {
  List list = list_of(units);
  uint32_t fitting = lists_[list.doubling] & (~uint32_t{0} << list.index);
  if (fitting == 0) {
    const uint64_t larger = doublings_ & (~uint64_t{0} << (list.doubling + 1));
    if (larger == 0) return nullptr;
    list.doubling = std::countr_zero(larger);
    fitting = lists_[list.doubling];
  }
  return heads_[list.doubling][std::countr_zero(fitting)];
}

// Adds a region with one free block of at least `bytes` bytes. Small at first, then doubling, so
// that a large process asks rarely and a small one takes little.
bool Heap::grow(size_t bytes) {
  const size_t overhead = 2 * sizeof(Buffer);
  const size_t needed = (bytes + overhead + kHugePage - 1) & ~(kHugePage - 1);
  if (needed > limit_ - reserved_) return_free_regions();
  if (needed > limit_ - reserved_) return false;
  size_t size = std::max(needed, std::clamp(reserved_, kHugePage, kLargestGrowth));
  size = std::min(size & ~(kHugePage - 1), std::max(needed, limit_ - reserved_));
  char* start = map_region(size);
  if (start == nullptr) {
    return_free_regions();
    size = needed;
    start = map_region(size);
    if (start == nullptr) return false;
  }
  regions_.push_back({start, size});
  reserved_ += size;
  ++fresh_pages_;
  Buffer* block = make_block(start, size - overhead, nullptr);
  make_block(next_of(block), 0, block);  // ends the region: never free
  poison(block->data, block->capacity);
  insert(block);
  return true;
}

void Heap::return_free_regions() {
  std::erase_if(regions_, [this](const Region& region) {
    Buffer* block = reinterpret_cast<Buffer*>(region.start);
    if (!block->is_free || block->capacity + 2 * sizeof(Buffer) != region.size) return false;
    remove(block);
    reserved_ -= region.size;
    unpoison(region.start, region.size);
    munmap(region.start, region.size);
    return true;
  });
}

void Heap::insert(Buffer* block) {
  const List list = list_of(block->capacity / kUnit);
  Buffer*& head = heads_[list.doubling][list.index];
  block->is_free = true;
  block->free_previous = nullptr;
  block->free_next = head;
  if (head != nullptr) head->free_previous = block;
  head = block;
  lists_[list.doubling] |= uint32_t{1} << list.index;
  doublings_ |= uint64_t{1} << list.doubling;
}

void Heap::remove(Buffer* block) {
  const List list = list_of(block->capacity / kUnit);
  Buffer*& head = heads_[list.doubling][list.index];
  block->is_free = false;
  if (block->free_next != nullptr) block->free_next->free_previous = block->free_previous;
  if (block->free_previous != nullptr) {
    block->free_previous->free_next = block->free_next;
  } else {
    head = block->free_next;
  }
  if (head != nullptr) return;
  lists_[list.doubling] &= ~(uint32_t{1} << list.index);
  if (lists_[list.doubling] == 0) doublings_ &= ~(uint64_t{1} << list.doubling);
}

// Cuts what lies behind `bytes` off, where it is worth a block.
void Heap::split(Buffer* block, size_t bytes) {
  if (block->capacity < bytes + sizeof(Buffer) + kUnit) return;
  const size_t rest = block->capacity - bytes - sizeof(Buffer);
  block->capacity = bytes;
  Buffer* behind = make_block(next_of(block), rest, block);
  next_of(behind)->previous = behind;
  insert(behind);
}

}  // namespace qanat
