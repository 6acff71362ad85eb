#include "packages/core/native/device/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

// Yields until the condition holds, for a minute at most.
template <typename Condition>
void wait_until(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    CHECK(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
}

// Each chunk runs exactly once, whatever the number of threads and chunks.
TEST(every_chunk_runs_once) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK_EQ(pool.threads(), threads);
    for (int64_t chunks : {0, 1, 2, 7, 1000}) {
      auto runs = std::make_unique<std::atomic<int>[]>(1000);
      pool.for_each(chunks, [&](int64_t chunk) { runs[chunk].fetch_add(1); });
      for (int64_t i = 0; i < 1000; ++i) CHECK_EQ(runs[i].load(), i < chunks ? 1 : 0);
    }
  }
}

TEST(one_thread_runs_in_order_on_the_caller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  int64_t next = 0;
  pool.for_each(100, [&](int64_t chunk) {
    CHECK_EQ(chunk, next++);
    CHECK(std::this_thread::get_id() == caller);
  });
  CHECK_EQ(next, 100);
}

TEST(what_chunks_write_is_seen_after_the_loop) {
  ThreadPool pool(4);
  std::vector<int64_t> values(64);
  for (int64_t round = 0; round < 2000; ++round) {
    pool.for_each(64, [&](int64_t chunk) { values[chunk] += chunk; });
    CHECK_EQ(values[63], 63 * (round + 1));
  }
  for (int64_t i = 0; i < 64; ++i) CHECK_EQ(values[i], i * 2000);
}

TEST(loops_nest) {
  ThreadPool pool(3);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int64_t> sum{0};
    pool.for_each(8, [&](int64_t i) {
      pool.for_each(8, [&](int64_t j) {
        pool.for_each(4, [&](int64_t k) { sum.fetch_add(i * 32 + j * 4 + k); });
      });
    });
    CHECK_EQ(sum.load(), 256 * 255 / 2);
  }
}

TEST(many_callers_share_the_workers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        int64_t parts[16] = {};
        pool.for_each(16, [&](int64_t chunk) {
          pool.for_each(2, [&](int64_t) {});
          parts[chunk] = chunk;
        });
        int64_t sum = 0;
        for (int64_t part : parts) sum += part;
        total.fetch_add(sum);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(total.load(), 4 * 500 * 120);
}

// More open loops than the pool has places for: the rest run on their callers.
TEST(there_is_always_room_for_a_loop) {
  ThreadPool pool(2);
  struct Nest {
    ThreadPool* pool;
    std::atomic<int> leaves{0};
    void descend(int depth) {
      if (depth == 0) {
        leaves.fetch_add(1);
        return;
      }
      pool->for_each(depth % 40 == 0 ? 2 : 1, [&](int64_t) { descend(depth - 1); });
      pool->run(2, [](void*, int64_t) {}, nullptr);
    }
  } nest{&pool};
  nest.descend(100);
  CHECK_EQ(nest.leaves.load(), 4);
}

TEST(an_offer_is_taken_by_workers_and_closed_for_good) {
  ThreadPool pool(4);
  for (int round = 0; round < 500; ++round) {
    struct Shared {
      std::atomic<int> taken{0};
      std::atomic<bool> closed{false};
    } shared;
    ThreadPool::Offer offer(
        &pool,
        [](void* arg, int64_t) {
          auto* state = static_cast<Shared*>(arg);
          CHECK(!state->closed.load());
          state->taken.fetch_add(1);
        },
        &shared);
    offer.open();
    offer.add(2);
    offer.add(1);
    if (round % 10 == 0) {
      wait_until([&] { return shared.taken.load() == 3; });
    }
    offer.close();
    shared.closed.store(true);
    CHECK(shared.taken.load() <= 3);
  }
}

// A body may add tickets after the holder began to close: nobody takes those, close() still ends,
// and the place is as new for the next job.
TEST(tickets_added_while_an_offer_closes_are_taken_by_nobody) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    struct Shared {
      std::atomic<ThreadPool::Offer*> offer{nullptr};
      std::atomic<int> running{0};
      std::atomic<bool> closing{false};
      std::atomic<bool> closed{false};
    } shared;
    ThreadPool::Offer offer(
        &pool,
        [](void* arg, int64_t) {
          auto* state = static_cast<Shared*>(arg);
          CHECK(!state->closed.load());
          state->running.fetch_add(1);
          wait_until([&] { return state->closing.load(); });
          for (int i = 0; i < 50; ++i) state->offer.load()->add(1);
        },
        &shared);
    shared.offer.store(&offer);
    offer.open();
    offer.add(2);
    wait_until([&] { return shared.running.load() > 0; });
    shared.closing.store(true);
    offer.close();
    shared.closed.store(true);
    std::atomic<int> chunks{0};
    pool.for_each(8, [&](int64_t) { chunks.fetch_add(1); });
    CHECK_EQ(chunks.load(), 8);
  }
}

TEST(a_waiting_thread_helps_and_is_woken) {
  ThreadPool pool(2);
  std::atomic<bool> done{false};
  std::thread other([&] {
    pool.for_each(64, [&](int64_t) { std::this_thread::yield(); });
    done.store(true);
    pool.wake_all();
  });
  while (!done.load()) {
    const uint32_t seen = pool.events();
    if (done.load()) break;
    if (!pool.help()) pool.wait(seen, 1'000'000'000);
  }
  other.join();
}

#ifndef __SANITIZE_THREAD__  // which cannot follow a fork of several threads
TEST(a_forked_child_runs_alone) {
  auto pool = std::make_unique<ThreadPool>(3);
  pool->for_each(16, [](int64_t) {});
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    pool->for_each(16, [&](int64_t) { ++count; });
    pool.reset();
    _exit(count == 16 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace qanat
