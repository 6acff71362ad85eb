#include "packages/core/native/memory/allocator.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <new>

#include "packages/core/native/base/poison.h"
#include "packages/core/native/kernel/bytes.h"
#include "packages/core/native/memory/resource.h"

namespace qanat {
namespace {

// The memory of this machine or, where that is less, of the container this process lives in.
size_t memory_of_the_machine() {
  size_t bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                 static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
    unsigned long long limit = 0;
    if (std::fscanf(file, "%llu", &limit) == 1 && limit > 0) {
      bytes = std::min<size_t>(bytes, limit);
    }
    std::fclose(file);
  }
  return bytes;
}

int size_class_of(size_t bytes) {
  return bytes <= kAlignment ? 0 : std::bit_width((bytes - 1) / kAlignment);
}

template <typename List>
void push(List* list, Buffer* buffer) {
  buffer->free_next = list->head;
  list->head = buffer;
  ++list->count;
}

template <typename List>
Buffer* pop(List* list) {
  Buffer* buffer = list->head;
  list->head = buffer->free_next;
  --list->count;
  return buffer;
}

void destroy_elements(Buffer* buffer) {
  if (buffer->kind == BufferKind::kStrings) {
    std::destroy_n(static_cast<Bytes*>(buffer->data), buffer->count);
  } else if (buffer->kind == BufferKind::kResources) {
    Resource** resources = static_cast<Resource**>(buffer->data);
    for (int64_t i = 0; i < buffer->count; ++i) {
      if (resources[i] != nullptr) resources[i]->unref();
    }
  }
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

Buffer* Allocator::take(size_t bytes, Cache* cache) {
  if (bytes > kLargestSmall) return take_large(bytes);
  const int size_class = size_class_of(bytes);
  Buffer* buffer = nullptr;
  if (cache != nullptr) {
    Cache::List* list = &cache->lists_[size_class];
    if (list->head == nullptr && !refill(size_class, list, batch(size_class))) return nullptr;
    buffer = pop(list);
  } else {
    Cache::List one;
    if (!refill(size_class, &one, 1)) return nullptr;
    buffer = one.head;
  }
  unpoison(buffer->data, bytes);
  return buffer;
}

Buffer* Allocator::take_large(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  Buffer* buffer = heap_.allocate(bytes);
  if (buffer == nullptr) return nullptr;
  buffer->size_class = kClasses;
  buffer->allocator = this;
  unpoison(buffer->data, bytes);
  return buffer;
}

// Moves up to `count` blocks, at least one, from the shared list; false where memory is exhausted.
bool Allocator::refill(int size_class, Cache::List* list, int count) {
  std::lock_guard<std::mutex> lock(mutex_);
  Cache::List* shared = &shared_[size_class];
  if (shared->head == nullptr && !carve_slab(size_class)) return false;
  while (count-- > 0 && shared->head != nullptr) push(list, pop(shared));
  return true;
}

// Cuts a large block into small ones for good.
bool Allocator::carve_slab(int size_class) {
  Buffer* slab = heap_.allocate(kSlab - sizeof(Buffer));
  if (slab == nullptr) return false;
  const size_t step = sizeof(Buffer) + class_bytes(size_class);
  char* start = static_cast<char*>(slab->data);
  for (size_t offset = slab->capacity / step * step; offset > 0; offset -= step) {
    unpoison(start + offset - step, sizeof(Buffer));
    Buffer* buffer = new (start + offset - step) Buffer;
    buffer->data = buffer + 1;
    buffer->capacity = class_bytes(size_class);
    buffer->size_class = static_cast<uint8_t>(size_class);
    buffer->allocator = this;
    push(&shared_[size_class], buffer);
  }
  return true;
}

void Allocator::free(Buffer* buffer, Cache* cache) {
  poison(buffer->data, buffer->capacity);
  const int size_class = buffer->size_class;
  if (size_class < kClasses && cache != nullptr) {
    Cache::List* list = &cache->lists_[size_class];
    push(list, buffer);
    if (list->count > 2 * batch(size_class)) drain(size_class, list, batch(size_class));
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (size_class < kClasses) {
    push(&shared_[size_class], buffer);
  } else {
    heap_.release(buffer);
  }
}

void Allocator::drain(int size_class, Cache::List* list, int keep) {
  std::lock_guard<std::mutex> lock(mutex_);
  while (list->count > keep) push(&shared_[size_class], pop(list));
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
  size_t idle = 0;
  for (int i = 0; i < kClasses; ++i) {
    int count = shared_[i].count;
    for (const Cache* cache : idle_caches_) count += cache->lists_[i].count;
    idle += static_cast<size_t>(count) * (sizeof(Buffer) + class_bytes(i));
  }
  return {heap_.in_use() - idle, heap_.peak(), heap_.reserved(), heap_.fresh_pages()};
}

void release(Buffer* buffer, Allocator::Cache* cache) {
  if (buffer->allocator == nullptr) return;  // lent
  if (buffer->kind != BufferKind::kPlain) destroy_elements(buffer);
  buffer->allocator->free(buffer, cache);
}

}  // namespace qanat
