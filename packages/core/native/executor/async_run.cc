#include "packages/core/native/executor/async_run.h"

#include <utility>

#include "packages/core/native/executor/flat_state.h"

namespace qanat {

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
  state_.finish(this);  // the step may be over once this returns
  if (place != nullptr) place->unref();
}

void AsyncRun::take(std::span<Token> tokens) {
  if (tokens.size() != static_cast<size_t>(node_.num_outputs)) {
    return context_.failf(StatusCode::kInternal, "expected %d values, got %zu", node_.num_outputs,
                          tokens.size());
  }
  for (size_t i = 0; i < tokens.size() && !context_.failed(); ++i) {
    if (tokens[i].is_dead) {
      context_.fail(StatusCode::kInvalidArgument,
                    "expected a value, got that of a branch that was not taken");
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

}  // namespace qanat
