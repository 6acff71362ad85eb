#include "packages/core/native/cluster/step_table.h"

#include <utility>

namespace qanat {
namespace {

constexpr size_t kRememberedAborts = 4096;

}  // namespace

StepTable::EntryPtr StepTable::find_locked(uint64_t step, Status* aborted) {
  auto over = aborted_.find(step);
  if (over != aborted_.end()) {
    *aborted = over->second;
    return nullptr;
  }
  if (!closed_.ok()) {
    *aborted = closed_;
    return nullptr;
  }
  EntryPtr& entry = steps_[step];
  if (entry == nullptr) entry = std::make_shared<StepEntry>();
  return entry;
}

StepTable::EntryPtr StepTable::find(uint64_t step, Status* aborted) {
  std::lock_guard<std::mutex> lock(mutex_);
  return find_locked(step, aborted);
}

StepTable::EntryPtr StepTable::start(uint64_t step, const void* starter, const Cancellation* parent,
                                     Status* aborted) {
  std::lock_guard<std::mutex> lock(mutex_);
  EntryPtr entry = find_locked(step, aborted);
  if (entry == nullptr) return nullptr;
  if (entry->running) {
    *aborted = error(StatusCode::kInternal, "expected each part of a step once, got it twice");
    return nullptr;
  }
  entry->running = true;
  entry->starter = starter;
  entry->cancellation.follow(parent);
  return entry;
}

void StepTable::finish(uint64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = steps_.find(step);
  if (found == steps_.end()) return;
  found->second->finished = true;
  drop_if_done(step);
}

void StepTable::fetched(uint64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  drop_if_done(step);
}

void StepTable::drop_if_done(uint64_t step) {
  auto found = steps_.find(step);
  if (found == steps_.end()) return;
  if (found->second->finished && found->second->values->empty()) steps_.erase(found);
}

bool StepTable::abort(uint64_t step, const Status& status) {
  EntryPtr entry;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_.try_emplace(step, status).second) return false;
    aborted_order_.push_back(step);
    if (aborted_order_.size() > kRememberedAborts) {
      aborted_.erase(aborted_order_.front());
      aborted_order_.pop_front();
    }
    auto found = steps_.find(step);
    if (found != steps_.end()) {
      entry = std::move(found->second);
      steps_.erase(found);
    }
  }
  if (entry != nullptr) {
    entry->cancellation.cancel(status.code, status.message);
    entry->values->abort(status);
  }
  return true;
}

std::vector<uint64_t> StepTable::started_by(const void* starter) {
  std::vector<uint64_t> started;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [step, entry] : steps_) {
    if (entry->starter == starter) started.push_back(step);
  }
  return started;
}

void StepTable::close(const Status& status) {
  std::vector<uint64_t> all;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = status;
    for (const auto& [step, entry] : steps_) all.push_back(step);
  }
  for (uint64_t step : all) abort(step, status);
}

size_t StepTable::size() {
  std::lock_guard<std::mutex> lock(mutex_);
  return steps_.size();
}

}  // namespace qanat
