#include "packages/core/native/memory/allocator.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "packages/core/native/kernel/resource.h"
#include "packages/core/native/memory/tensor.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

TEST(a_freed_buffer_serves_the_next_request) {
  Allocator allocator;
  Allocator::Cache* cache = allocator.borrow_cache();
  for (size_t bytes : {1, 64, 100, 8192, 10'000, 5'000'000}) {
    Buffer* first = allocator.allocate(bytes, cache);
    void* const data = first->data;
    CHECK_EQ(reinterpret_cast<uintptr_t>(data) % kAlignment, 0u);
    std::memset(data, 1, bytes);
    unref(first, cache);
    Buffer* second = allocator.allocate(bytes, cache);
    CHECK(second->data == data);
    unref(second, cache);
  }
  allocator.return_cache(cache);
  CHECK_EQ(allocator.stats().in_use, 0u);
}

TEST(many_small_buffers_are_alive_at_once) {
  Allocator allocator;
  Allocator::Cache* cache = allocator.borrow_cache();
  int64_t fresh = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<Buffer*> buffers;
    for (int i = 0; i < 5000; ++i) {
      buffers.push_back(allocator.allocate(sizeof(int) + i % 300, cache));
      *static_cast<int*>(buffers.back()->data) = i;
    }
    for (int i = 0; i < 5000; ++i) {
      CHECK_EQ(*static_cast<int*>(buffers[i]->data), i);
      unref(buffers[i], cache);
    }
    if (round == 0) fresh = allocator.stats().fresh_pages;
  }
  CHECK_EQ(allocator.stats().fresh_pages, fresh);
  allocator.return_cache(cache);
  CHECK_EQ(allocator.stats().in_use, 0u);
}

TEST(buffers_may_end_on_another_thread) {
  Allocator allocator;
  std::vector<std::thread> threads;
  std::atomic<Buffer*> shelf[16] = {};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Allocator::Cache* cache = allocator.borrow_cache();
      for (int i = 0; i < 5000; ++i) {
        const size_t bytes = (i * 37 + t) % 20'000 + sizeof(int);
        Buffer* buffer = allocator.allocate(bytes, cache);
        *static_cast<int*>(buffer->data) = i;
        Buffer* old = shelf[i % 16].exchange(buffer);
        if (old != nullptr) unref(old, i % 2 == 0 ? cache : nullptr);
      }
      allocator.return_cache(cache);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& place : shelf) unref(place.load());
  CHECK_EQ(allocator.stats().in_use, 0u);
}

TEST(a_tensor_of_absurd_size_is_refused) {
  Allocator allocator;
  Tensor tensor;
  CHECK(!tensor.allocate(DType::kFloat64, Shape({int64_t{1} << 40, 1 << 20}), &allocator));
  CHECK(!tensor.allocate(DType::kFloat64, Shape({INT64_MAX}), &allocator));
  CHECK(!tensor);
  CHECK_EQ(allocator.stats().reserved, 0u);
  const Status status = exhausted(DType::kInt8, Shape({3}));
  CHECK_EQ(status.code, StatusCode::kResourceExhausted);
}

TEST(strings_are_made_copied_and_destroyed) {
  Allocator allocator;
  Tensor words;
  CHECK(words.allocate(DType::kString, Shape({3}), &allocator));
  CHECK_EQ(words.view.as<Bytes>()[2].size(), 0u);
  words.view.as<Bytes>()[1].assign("a word that is too long to be kept anywhere but outside");
  Tensor copy;
  CHECK(words.copy_to(&copy, &allocator));
  words.view.as<Bytes>()[1].assign("other");
  CHECK_EQ(copy.view.as<Bytes>()[1].size(), 55u);
}

class Counted final : public Resource {
 public:
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }
  const char* kind() const override { return "counted"; }

 private:
  ~Counted() override { --*alive_; }
  int* const alive_;
};

TEST(a_resource_ends_with_its_last_handle) {
  Allocator allocator;
  int alive = 0;
  Tensor handle, copy;
  CHECK(handle.allocate(DType::kResource, Shape(), &allocator));
  *handle.view.as<Resource*>() = new Counted(&alive);
  CHECK(handle.copy_to(&copy, &allocator));
  handle.reset();
  CHECK_EQ(alive, 1);
  copy.reset();
  CHECK_EQ(alive, 0);
}

TEST(tensors_share_their_buffer) {
  Allocator allocator;
  Tensor a;
  CHECK(a.allocate(DType::kInt32, Shape({2, 3}), &allocator));
  CHECK(a.buffer->exclusive());
  Tensor b = a;
  CHECK(!a.buffer->exclusive());
  CHECK(a.view.data == b.view.data);
  b = Tensor();
  CHECK(a.buffer->exclusive());
  Tensor c = std::move(a);
  CHECK(!a && c.buffer->exclusive());
}

}  // namespace
}  // namespace qanat
