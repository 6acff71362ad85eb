#include "packages/core/native/rendezvous/rendezvous.h"

#include <utility>

namespace qanat {

std::string TransferKey::str() const {
  std::string text;
  text.reserve(source.size() + destination.size() + tensor.size() + tag.size() + 3);
  text.append(source).append(";").append(destination).append(";").append(tensor);
  if (!tag.empty()) text.append(";").append(tag);
  return text;
}

Status LocalRendezvous::send(const TransferKey& key, Token token) {
  return send_as(key.str(), std::move(token));
}

void LocalRendezvous::receive(const TransferKey& key, Waiter* waiter) {
  receive_as(key.str(), waiter);
}

Status LocalRendezvous::send_as(std::string key, Token token) {
  Waiter* waiter = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    const auto [found, added] = meetings_.try_emplace(std::move(key));
    if (added) {
      found->second.token = std::move(token);
      return {};
    }
    waiter = found->second.waiter;
    if (waiter == nullptr) {
      return error(StatusCode::kInternal,
                   "expected each value to be sent once, got a second " + found->first);
    }
    meetings_.erase(found);
  }
  waiter->wake({}, {&token, 1});
  return {};
}

void LocalRendezvous::receive_as(std::string key, Waiter* waiter) {
  Token token;
  Status status;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    status = aborted_;
    if (status.ok()) {
      const auto [found, added] = meetings_.try_emplace(std::move(key));
      if (added) {
        found->second.waiter = waiter;
        return;
      }
      if (found->second.waiter == nullptr) {
        token = std::move(found->second.token);
        meetings_.erase(found);
      } else {
        status = error(
            StatusCode::kInternal,
            "expected each value to be received once, got a second receiver of " + found->first);
      }
    }
  }
  waiter->wake(status, {&token, status.ok() ? size_t{1} : size_t{0}});
}

bool LocalRendezvous::forget(Waiter* waiter) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = meetings_.begin();
  while (found != meetings_.end() && found->second.waiter != waiter) ++found;
  if (found == meetings_.end()) return false;
  meetings_.erase(found);
  return true;
}

void LocalRendezvous::cancel(Waiter* waiter, const Status& status) {
  if (forget(waiter)) waiter->wake(status, {});
}

void LocalRendezvous::abort(const Status& status) {
  std::unordered_map<std::string, Meeting> meetings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = status;
    meetings.swap(meetings_);
  }
  for (auto& [key, meeting] : meetings) {
    if (meeting.waiter != nullptr) meeting.waiter->wake(status, {});
  }
}

bool LocalRendezvous::empty() {
  std::lock_guard<std::mutex> lock(mutex_);
  return meetings_.empty();
}

}  // namespace qanat
