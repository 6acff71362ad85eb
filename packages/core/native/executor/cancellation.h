// How somebody outside ends steps.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_CANCELLATION_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_CANCELLATION_H_

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "packages/core/native/base/status.h"

namespace qanat {

// Thread-safe. The first cancel() counts; it is for good.
class Cancellation {
 public:
  // From now on cancelled where the parent is, too; before anybody asks. The parent outlives this.
  void follow(const Cancellation* parent) { parent_ = parent; }

  void cancel(StatusCode code, std::string message) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_.load(std::memory_order_relaxed)) return;
    reason_ = error(code, std::move(message));
    cancelled_.store(true, std::memory_order_release);
  }
  bool cancelled() const {
    return cancelled_.load(std::memory_order_acquire) ||
           (parent_ != nullptr && parent_->cancelled());
  }
  // Why; only once cancelled.
  const Status& reason() const {
    return cancelled_.load(std::memory_order_acquire) ? reason_ : parent_->reason();
  }

 private:
  const Cancellation* parent_ = nullptr;
  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
  Status reason_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_CANCELLATION_H_
