#include "packages/core/native/cluster/step_threads.h"

#include <utility>

namespace qanat {

StepThreads::~StepThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void StepThreads::run(std::function<void()> part) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    parts_.push_back(std::move(part));
    if (parts_.size() > idle_) threads_.emplace_back(&StepThreads::main, this);
  }
  wake_.notify_one();
}

void StepThreads::main() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [this] { return stop_ || !parts_.empty(); });
    --idle_;
    if (parts_.empty()) return;
    std::function<void()> part = std::move(parts_.front());
    parts_.pop_front();
    lock.unlock();
    part();
    part = nullptr;
    lock.lock();
  }
}

}  // namespace qanat
