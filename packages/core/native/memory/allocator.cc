#include "packages/core/native/memory/allocator.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>

#include "packages/core/native/kernel/bytes.h"
#include "packages/core/native/kernel/resource.h"

namespace qanat {
namespace {

// The memory of this machine or, where that is less, of the container this process lives in.
size_t memory_of_the_machine() {
  auto bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
    unsigned long long limit = 0;
    if (std::fscanf(file, "%llu", &limit) == 1 && limit > 0) {
      bytes = std::min<uint64_t>(bytes, limit);
    }
    std::fclose(file);
  }
  // A 32-bit process may run on a larger machine.
  return static_cast<size_t>(std::min<uint64_t>(bytes, PTRDIFF_MAX));
}

}  // namespace

Allocator::Allocator(size_t limit) : heap_(limit > 0 ? limit : memory_of_the_machine()) {}

Allocator::~Allocator() = default;

Allocator& Allocator::process() {
  static Allocator* const allocator = [] {
    pthread_atfork(hold_process_lock, free_process_lock, free_process_lock);
    return new Allocator;
  }();
  return *allocator;
}

void Allocator::hold_process_lock() { process().mutex_.lock(); }
void Allocator::free_process_lock() { process().mutex_.unlock(); }

// What a cache has not.
Buffer* Allocator::take(size_t bytes, Cache* cache) {
  if (bytes > kLargestSmall) return take_large(bytes);
  const int size_class = size_class_of(bytes);
  std::lock_guard<std::mutex> lock(mutex_);
  List& shared = shared_[size_class];
  if (shared.head == nullptr && !carve_slab(size_class)) return nullptr;
  Buffer* buffer = shared.pop();
  if (cache != nullptr) {
    for (int i = 1; i < batch(size_class) && shared.head != nullptr; ++i) {
      cache->lists_[size_class].push(shared.pop());
    }
  }
  return buffer;
}

Buffer* Allocator::take_large(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  Buffer* buffer = heap_.allocate(bytes);
  if (buffer == nullptr) return nullptr;
  buffer->size_class = kClasses;
  buffer->allocator = this;
  return buffer;
}

// Cuts a large block into small ones for good.
bool Allocator::carve_slab(int size_class) {
  Buffer* slab = heap_.allocate(kSlab - sizeof(Buffer));
  if (slab == nullptr) return false;
  const size_t step = sizeof(Buffer) + class_bytes(size_class);
  slab_overhead_ += sizeof(Buffer) + slab->capacity % step;
  char* start = static_cast<char*>(slab->data);
  for (size_t offset = slab->capacity / step * step; offset > 0; offset -= step) {
    unpoison(start + offset - step, sizeof(Buffer));
    Buffer* buffer = new (start + offset - step) Buffer;
    buffer->data = buffer + 1;
    buffer->capacity = class_bytes(size_class);
    buffer->size_class = static_cast<uint8_t>(size_class);
    buffer->allocator = this;
    shared_[size_class].push(buffer);
  }
  return true;
}

void Allocator::give_back(Buffer* buffer) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (buffer->size_class == kClasses) {
    heap_.release(buffer);
  } else {
    shared_[buffer->size_class].push(buffer);
  }
}

void Allocator::drain(int size_class, List* list) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (list->count > batch(size_class)) shared_[size_class].push(list->pop());
}

void Allocator::destroy_elements(Buffer* buffer) {
  if (buffer->kind == BufferKind::kStrings) {
    std::destroy_n(static_cast<Bytes*>(buffer->data), buffer->count);
  } else if (buffer->kind == BufferKind::kResources) {
    Resource** resources = static_cast<Resource**>(buffer->data);
    for (int64_t i = 0; i < buffer->count; ++i) {
      if (resources[i] != nullptr) resources[i]->unref();
    }
  }
}

Allocator::Cache* Allocator::borrow_cache() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_caches_.empty()) {
    caches_.push_back(std::make_unique<Cache>());
    idle_caches_.reserve(caches_.size());
    return caches_.back().get();
  }
  Cache* cache = idle_caches_.back();
  idle_caches_.pop_back();
  return cache;
}

void Allocator::return_cache(Cache* cache) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_caches_.push_back(cache);
}

MemoryStats Allocator::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t idle = slab_overhead_;
  for (int i = 0; i < kClasses; ++i) {
    int count = shared_[i].count;
    for (const Cache* cache : idle_caches_) count += cache->lists_[i].count;
    idle += static_cast<size_t>(count) * (sizeof(Buffer) + class_bytes(i));
  }
  return {heap_.in_use() - idle, heap_.peak(), heap_.reserved(), heap_.fresh_pages()};
}

}  // namespace qanat
