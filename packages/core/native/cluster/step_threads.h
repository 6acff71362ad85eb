// Threads for the parts of steps that others ask a task to run.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_STEP_THREADS_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_STEP_THREADS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace qanat {

// As many as there are parts that run at once: one may wait for another, so none is made to wait
// for a thread. They are kept.
class StepThreads {
 public:
  ~StepThreads();

  void run(std::function<void()> part);

 private:
  void main();

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<std::function<void()>> parts_;
  size_t idle_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_STEP_THREADS_H_
