#include <algorithm>
#include <utility>

#include "packages/core/native/cluster/task.h"

namespace qanat {
namespace {

// "/job:ps/task:0" of "/job:ps/task:0/device:CPU:0".
std::string_view task_of(std::string_view device) {
  return device.substr(0, device.find("/device:"));
}

}  // namespace

Status TaskRendezvous::send(const TransferKey& key, Token token) {
  return entry_->values->send(key, std::move(token));
}

void TaskRendezvous::receive(const TransferKey& key, Waiter* waiter) {
  const std::string_view source = task_of(key.source);
  if (source == task_.name()) return entry_->values->receive(key, waiter);
  std::shared_ptr<Connection> connection = task_.peer(source);
  if (connection == nullptr) {
    return waiter->wake(error(StatusCode::kUnavailable,
                              "expected a connection to " + std::string(source) + ", got none"),
                        {});
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(used_.begin(), used_.end(), connection) == used_.end()) {
      used_.push_back(connection);
    }
  }
  Message frame;
  frame.type = MessageType::kReceive;
  frame.step = step_;
  frame.body = key.str();
  connection->call(std::move(frame), waiter, [waiter](const Status& status, Message* reply) {
    if (!status.ok()) return waiter->wake(status, {});
    waiter->wake({}, reply->tokens);
  });
}

void TaskRendezvous::cancel(Waiter* waiter, const Status& status) {
  bool found = entry_->values->forget(waiter);
  if (!found) {
    std::vector<std::shared_ptr<Connection>> used;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      used = used_;
    }
    for (const auto& connection : used) found = found || connection->forget(waiter);
  }
  if (found) waiter->wake(status, {});
}

}  // namespace qanat
