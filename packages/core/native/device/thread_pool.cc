#include "packages/core/native/device/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <bit>

#include "packages/core/native/base/futex.h"

namespace qanat {
namespace {

// Long enough to bridge the gap between two loops of one step, short enough to leave the core to
// others: some tens of microseconds, and about one.
constexpr int kIdleSpins = 1000;
constexpr int kWaitSpins = 50;

std::atomic<int> forks{0};

int count_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  static_cast<void>(registered);
  return forks.load();
}

}  // namespace

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(1, threads)),
      forks_(count_forks()),
      workers_(new std::vector<std::thread>) {
  for (int i = 1; i < threads_; ++i) workers_->emplace_back([this] { worker_main(); });
}

ThreadPool::~ThreadPool() {
  if (threads_ > 1 && !has_workers())
    return;  // the parent's threads can be neither joined nor freed
  stop_.store(true);
  wake_.fetch_add(1);
  futex_wake(&wake_);
  for (std::thread& worker : *workers_) worker.join();
  delete workers_;
}

bool ThreadPool::has_workers() const {
  return threads_ > 1 && forks_ == forks.load(std::memory_order_relaxed);
}

void ThreadPool::run(int64_t chunks, Body body, void* arg) {
  int index = -1;
  if (chunks > 1 && chunks <= int64_t{UINT32_MAX} && has_workers()) {
    index = open_job(body, arg, static_cast<uint32_t>(chunks), &loops_);
  }
  if (index < 0) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(arg, chunk);
    return;
  }
  notify(static_cast<int>(std::min<int64_t>(chunks - 1, threads_ - 1)));
  work_on(&jobs_[index], true);
  close_job(index, &loops_);
}

bool ThreadPool::help() { return work_in(loops_, true); }

void ThreadPool::Offer::open() {
  if (pool_->has_workers()) job_ = pool_->open_job(body_, arg_, 0, &pool_->offers_);
}

void ThreadPool::Offer::add(int tickets) {
  if (job_ < 0) return;
  pool_->jobs_[job_].limit.fetch_add(static_cast<uint32_t>(tickets));
  pool_->notify(tickets);
}

void ThreadPool::Offer::close() {
  if (job_ < 0) return;
  pool_->close_job(job_, &pool_->offers_);
  job_ = -1;
}

// Takes a free place. A worker reads claim, then limit, then body and arg, then swaps claim:
// between jobs the limit is 0, and claim changes before the limit rises, so a successful swap means
// that all it read belongs to this job.
int ThreadPool::open_job(Body body, void* arg, uint32_t limit, std::atomic<uint64_t>* list) {
  uint64_t free = free_.load(std::memory_order_relaxed);
  do {
    if (free == 0) return -1;
  } while (!free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire));
  const int index = std::countr_zero(free);
  Job& job = jobs_[index];
  job.body.store(body, std::memory_order_relaxed);
  job.arg.store(arg, std::memory_order_relaxed);
  job.done.store(0, std::memory_order_relaxed);
  job.waiting.store(0, std::memory_order_relaxed);
  job.limit.store(limit, std::memory_order_release);
  list->fetch_or(uint64_t{1} << index, std::memory_order_release);
  return index;
}

// Bodies that still run may raise the limit (Offer::add), so while they are waited for the next
// chunk is one that no limit reaches.
void ThreadPool::close_job(int index, std::atomic<uint64_t>* list) {
  Job& job = jobs_[index];
  list->fetch_and(~(uint64_t{1} << index), std::memory_order_relaxed);
  const uint64_t next_job = ((job.claim.load(std::memory_order_relaxed) >> 32) + 1) << 32;
  const uint32_t claimed = static_cast<uint32_t>(job.claim.exchange(next_job | UINT32_MAX));
  for (int spins = 0; job.done.load(std::memory_order_acquire) != claimed; ++spins) {
    if (spins < kWaitSpins) {
      spin_pause();
      continue;
    }
    job.waiting.store(1);
    const uint32_t done = job.done.load();
    if (done != claimed) futex_wait(&job.done, done);
  }
  job.limit.store(0, std::memory_order_relaxed);  // before claim changes: nobody claims of the next
  job.claim.store(next_job, std::memory_order_release);
  free_.fetch_or(uint64_t{1} << index, std::memory_order_release);
}

// Runs one chunk of the job, or as many as it gets; false where there was none.
bool ThreadPool::work_on(Job* job, bool all) {
  uint32_t ran = 0;
  do {
    uint64_t claim = job->claim.load(std::memory_order_acquire);
    bool claimed = false;
    Body body = nullptr;
    void* arg = nullptr;
    while (static_cast<uint32_t>(claim) < job->limit.load(std::memory_order_acquire)) {
      body = job->body.load(std::memory_order_relaxed);
      arg = job->arg.load(std::memory_order_relaxed);
      claimed = job->claim.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel);
      if (claimed) break;
    }
    if (!claimed) break;
    body(arg, static_cast<int64_t>(claim & UINT32_MAX));
    ++ran;
  } while (all);
  if (ran == 0) return false;
  job->done.fetch_add(ran);
  if (job->waiting.load() != 0) futex_wake(&job->done);
  return true;
}

bool ThreadPool::work_in(const std::atomic<uint64_t>& list, bool all) {
  uint64_t open = list.load(std::memory_order_acquire);
  for (; open != 0; open &= open - 1) {
    if (work_on(&jobs_[std::countr_zero(open)], all)) return true;
  }
  return false;
}

void ThreadPool::notify(int workers) {
  wake_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake(&wake_, workers);
}

void ThreadPool::wake_all() { notify(INT_MAX); }

void ThreadPool::wait(uint32_t seen, int64_t timeout_ns) {
  for (int spins = 0; spins < kIdleSpins; ++spins) {
    if (wake_.load(std::memory_order_relaxed) != seen) return;
    spin_pause();
  }
  sleepers_.fetch_add(1);
  if (wake_.load() == seen) futex_wait(&wake_, seen, timeout_ns);
  sleepers_.fetch_sub(1);
}

// Whole kernels before chunks of one: they share less.
void ThreadPool::worker_main() {
  while (true) {
    const uint32_t seen =
        events();  // before the look at stop_ and at the jobs, so that none is missed
    if (stop_.load()) return;
    if (!work_in(offers_, false) && !work_in(loops_, true)) wait(seen, 0);
  }
}

}  // namespace qanat
