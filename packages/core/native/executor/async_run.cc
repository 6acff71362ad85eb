#include "packages/core/native/executor/async_run.h"

#include <cstdio>
#include <thread>
#include <utility>

#include "packages/core/native/executor/frame.h"

namespace qanat {
namespace {

constexpr std::chrono::seconds kLongWait{10};
constexpr size_t kNamedWaits = 3;

}  // namespace

void AsyncRun::start(const NodePlan& node, const Workplace& workplace, Iteration* iteration) {
  node_ = &node;
  iteration_ = iteration;
  dead_ = false;
  context_.begin_async(node, workplace);
  static_cast<AsyncKernel*>(node.kernel)->start(this);
}

void AsyncRun::wait_at(WaitingPlace* place) {
  place->ref();
  std::lock_guard<std::mutex> lock(mutex_);
  place_ = place;
}

void AsyncRun::wake(const Status& status, std::span<Token> tokens) {
  WaitingPlace* place = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    place = std::exchange(place_, nullptr);
  }
  if (!status.ok()) {
    context_.fail_with(status);
  } else if (!context_.failed()) {
    take(tokens);
  }
  owner_.finish(this);  // this may be used again, or the step be over, once it returns
  if (place != nullptr) place->unref();
}

void AsyncRun::take(std::span<Token> tokens) {
  if (tokens.size() != static_cast<size_t>(node_->num_outputs)) {
    return context_.failf(StatusCode::kInternal, "expected %d values, got %zu", node_->num_outputs,
                          tokens.size());
  }
  for (size_t i = 0; i < tokens.size() && !context_.failed(); ++i) {
    if (tokens[i].is_dead) {
      dead_ = true;
    } else {
      context_.set_output(static_cast<int>(i), std::move(tokens[i].value));
    }
  }
}

void AsyncRun::cancel(const Status& status) {
  WaitingPlace* place = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (place_ == nullptr) return;
    place = place_;
    place->ref();
  }
  place->cancel(this, status);
  place->unref();
}

bool AsyncRun::waits() {
  std::lock_guard<std::mutex> lock(mutex_);
  return place_ != nullptr;
}

AsyncRun* AsyncRuns::take() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<AsyncRun>(step_, owner_));
    return all_.back().get();
  }
  AsyncRun* run = idle_.back();
  idle_.pop_back();
  return run;
}

void AsyncRuns::reset() {
  idle_.clear();
  for (const auto& run : all_) idle_.push_back(run.get());
}

// Until every run has ended: one that is about to wait when the step fails is met a round later.
void AsyncRuns::cancel_all() {
  const Status over = error(StatusCode::kCancelled, "the step has ended");
  while (any()) {
    for (const auto& run : all_) run->cancel(over);
    if (any()) std::this_thread::yield();
  }
}

std::string AsyncRuns::awaited() {
  std::string text;
  size_t count = 0;
  for (const auto& run : all_) {
    if (!run->waits() || ++count > kNamedWaits) continue;
    text += (text.empty() ? "" : ", ") + run->awaited();
    const std::string where = run->iteration() == nullptr ? "" : tag(*run->iteration());
    if (!where.empty()) text += " (in iteration " + where + ")";
  }
  return count <= kNamedWaits ? text : text + format(" and %zu more", count - kNamedWaits);
}

bool AsyncRuns::too_long() {
  if (!any() || Clock::now() - idle_since_ < kLongWait) return false;
  progressed();
  return true;
}

void AsyncRuns::tell(const std::string& awaited) {
  std::fprintf(stderr, "qanat: a step has waited %d s for %s\n",
               static_cast<int>(kLongWait.count()), awaited.c_str());
}

}  // namespace qanat
