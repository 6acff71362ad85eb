// The one pool of threads: for loops inside kernels and for kernels that may run at the same time.
#ifndef PACKAGES_CORE_NATIVE_DEVICE_THREAD_POOL_H_
#define PACKAGES_CORE_NATIVE_DEVICE_THREAD_POOL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "packages/core/native/kernel/parallel.h"

namespace qanat {

// Work is claimed, never assigned: a job is a counter, and whoever has time takes the next chunk by
// an atomic. So a caller waits only for chunks that are running, and a machine that is busy with
// other things costs nothing but the help that does not come. Idle workers spin for a moment, then
// sleep.
//
// After fork() a child has no workers: its loops run on the calling thread.
class ThreadPool final : public Parallel {
 public:
  // `threads` may work at once, callers of run() included: threads - 1 are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const override { return threads_; }
  void run(int64_t chunks, Body body, void* arg) override;

  // Runs chunks of one loop that is under way, if there is one: for a thread that has to wait.
  bool help();

  // Waiting for the pool: look at events(), then for work, then wait() for what comes later. Wakes
  // up at new loops and tickets, at wake_all(), after the time, and for no reason.
  uint32_t events() const { return wake_.load(); }
  void wait(uint32_t seen, int64_t timeout_ns);
  void wake_all();

  // A job without a fixed end: whoever holds the offer adds tickets as work turns up, and an idle
  // worker that takes one calls body(arg, ticket) once.
  class Offer {
   public:
    Offer(ThreadPool* pool, Body body, void* arg) : pool_(pool), body_(body), arg_(arg) {}
    ~Offer() { close(); }
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

    // From any thread that runs inside the offer or holds it.
    void add(int tickets);
    void open();
    // Takes back the tickets that nobody took and waits for the bodies that run.
    void close();

   private:
    ThreadPool* const pool_;
    const Body body_;
    void* const arg_;
    int job_ = -1;  // -1: not open, or all places are taken, and nobody will help
  };

 private:
  static constexpr int kJobs = 64;

  // A place for a job; never freed, so a late worker may look at it at any time. `claim` holds the
  // number of the job that has the place (upper half) and its next chunk: a claim is one compare
  // and swap, and fails for a job that is over.
  struct alignas(64) Job {
    std::atomic<uint64_t> claim{0};
    std::atomic<uint32_t> limit{0};
    std::atomic<uint32_t> done{0};
    std::atomic<uint32_t> waiting{0};
    std::atomic<Body> body{nullptr};
    std::atomic<void*> arg{nullptr};
  };

  int open_job(Body body, void* arg, uint32_t limit, std::atomic<uint64_t>* list);
  void close_job(int index, std::atomic<uint64_t>* list);
  bool work_on(Job* job, bool all);
  bool work_in(const std::atomic<uint64_t>& list, bool all);
  void notify(int workers);
  bool has_workers() const;
  void worker_main();

  const int threads_;
  const int forks_;  // of the process when the workers were started
  std::array<Job, kJobs> jobs_;
  alignas(64) std::atomic<uint64_t> free_{~uint64_t{0}};  // places, a bit each
  std::atomic<uint64_t> loops_{0};                        // open jobs with a fixed end
  std::atomic<uint64_t> offers_{0};                       // open jobs without
  alignas(64) std::atomic<uint32_t> wake_{0};             // changes when there is something to do
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread>* workers_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_DEVICE_THREAD_POOL_H_
