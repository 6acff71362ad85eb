#include "packages/core/native/memory/heap.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "packages/core/native/base/poison.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

constexpr size_t kLimit = size_t{1} << 30;

void fill(Buffer* block, unsigned char value) {
  unpoison(block->data, block->capacity);
  std::memset(block->data, value, block->capacity);
}

bool holds(const Buffer* block, unsigned char value) {
  const auto* bytes = static_cast<const unsigned char*>(block->data);
  for (size_t i = 0; i < block->capacity; ++i) {
    if (bytes[i] != value) return false;
  }
  return true;
}

TEST(blocks_are_aligned_and_large_enough) {
  Heap heap(kLimit);
  for (size_t bytes : {0, 1, 63, 64, 65, 4096, 100'000, 3'000'000, 70'000'000}) {
    Buffer* block = heap.allocate(bytes);
    CHECK(block != nullptr);
    CHECK(block->capacity >= bytes);
    CHECK_EQ(reinterpret_cast<uintptr_t>(block->data) % kAlignment, 0u);
    heap.release(block);
  }
  CHECK_EQ(heap.in_use(), 0u);
}

TEST(a_block_takes_little_more_than_asked_for) {
  Heap heap(kLimit);
  for (size_t bytes = 4096; bytes < 8'000'000; bytes = bytes * 5 / 4 + 64) {
    Buffer* block = heap.allocate(bytes);
    CHECK(block->capacity <= bytes + bytes / 16 + 2 * kAlignment);
    heap.release(block);
  }
}

TEST(a_repeated_pattern_takes_no_fresh_memory) {
  Heap heap(kLimit);
  int64_t fresh = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<Buffer*> blocks;
    for (size_t i = 0; i < 50; ++i) blocks.push_back(heap.allocate(10'000 + i * 33'333));
    for (size_t i = 0; i < 50; i += 2) heap.release(blocks[i]);
    for (size_t i = 0; i < 50; i += 2) blocks[i] = heap.allocate(10'000 + i * 33'333);
    for (Buffer* block : blocks) heap.release(block);
    if (round == 0) fresh = heap.fresh_pages();
    CHECK_EQ(heap.fresh_pages(), fresh);
  }
}

TEST(neighbours_are_merged) {
  Heap heap(kLimit);
  const size_t third = size_t{600'000};
  Buffer* a = heap.allocate(third);
  Buffer* b = heap.allocate(third);
  Buffer* c = heap.allocate(third);
  const size_t reserved = heap.reserved();
  heap.release(a);
  heap.release(c);
  heap.release(b);
  Buffer* whole = heap.allocate(3 * third);
  CHECK_EQ(heap.reserved(), reserved);
  heap.release(whole);
}

TEST(blocks_never_overlap) {
  Heap heap(kLimit);
  std::mt19937 random(1);
  struct Held {
    Buffer* block;
    unsigned char value;
  };
  std::vector<Held> held;
  for (int i = 0; i < 3000; ++i) {
    if (held.size() > 40 || (!held.empty() && random() % 3 == 0)) {
      const size_t which = random() % held.size();
      CHECK(holds(held[which].block, held[which].value));
      heap.release(held[which].block);
      held[which] = held.back();
      held.pop_back();
    } else {
      Buffer* block = heap.allocate(random() % (random() % 10 == 0 ? 200'000 : 5'000));
      const auto value = static_cast<unsigned char>(random());
      fill(block, value);
      held.push_back({block, value});
    }
  }
  for (const Held& last : held) {
    CHECK(holds(last.block, last.value));
    heap.release(last.block);
  }
  CHECK_EQ(heap.in_use(), 0u);
}

TEST(absurd_sizes_are_refused) {
  Heap heap(kLimit);
  CHECK(heap.allocate(kLimit + 1) == nullptr);
  CHECK(heap.allocate(SIZE_MAX) == nullptr);
  CHECK(heap.allocate(SIZE_MAX / 2) == nullptr);
  CHECK_EQ(heap.reserved(), 0u);
}

TEST(free_regions_go_back_before_memory_is_refused) {
  const size_t limit = size_t{64} << 20;
  Heap heap(limit);
  Buffer* first = heap.allocate(limit / 2);
  CHECK(heap.allocate(limit / 2 + (limit / 8)) == nullptr);
  heap.release(first);
  Buffer* second = heap.allocate(limit / 2 + (limit / 8));
  CHECK(second != nullptr);
  heap.release(second);
}

}  // namespace
}  // namespace qanat
