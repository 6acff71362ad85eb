// When each kernel of one step ran, and on which thread.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_STEP_TRACE_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_STEP_TRACE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace qanat {

// Any number of threads may add to it.
class StepTrace {
 public:
  struct Event {
    int32_t node;    // index of the compiled node
    int32_t thread;  // by first appearance, from 0
    int64_t begin, end;
  };

  // Nanoseconds since 1970, from a clock that nobody sets while the trace lasts.
  int64_t now() const {
    return started_at_ + nanoseconds(std::chrono::steady_clock::now() - started_);
  }

  void add(int32_t node, int64_t begin) {
    const int64_t end = now();
    std::lock_guard<std::mutex> lock(mutex_);
    const auto lane = static_cast<int32_t>(threads_.size());
    const int32_t thread = threads_.try_emplace(std::this_thread::get_id(), lane).first->second;
    events_.push_back({node, thread, begin, end});
  }

  std::vector<Event> events() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return events_;
  }

 private:
  template <typename Duration>
  static int64_t nanoseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  }

  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const int64_t started_at_ = nanoseconds(std::chrono::system_clock::now().time_since_epoch());
  mutable std::mutex mutex_;
  std::map<std::thread::id, int32_t> threads_;
  std::vector<Event> events_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_STEP_TRACE_H_
