#include "packages/core/native/cluster/cluster_executable.h"

#include <sys/random.h>

#include <atomic>
#include <cstdio>
#include <utility>

#include "packages/core/native/base/futex.h"

namespace qanat {
namespace {

constexpr std::chrono::seconds kLongWait{10};

// Distinct among all clients of a cluster, by chance.
uint64_t next_step() {
  static std::atomic<uint64_t> last = [] {
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) seed = reinterpret_cast<uint64_t>(&last);
    return seed;
  }();
  return last.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// What replies have brought; they may come after the step has failed and ended.
struct ClusterExecutable::Shared {
  explicit Shared(size_t parts)
      : results(parts), replied(parts), left(static_cast<uint32_t>(parts)) {}

  void fail(const Status& status) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure.ok()) return;
      failure = status;
    }
    cancellation.cancel(status.code, status.message);
    failed.store(true);
  }

  std::mutex mutex;  // guards failure, results and replied
  Status failure;
  std::vector<std::vector<Token>> results;
  std::vector<bool> replied;
  Cancellation cancellation;  // of the part of this process
  std::atomic<bool> failed{false};
  std::atomic<uint32_t> left;
};

Status ClusterExecutable::run(const StepOptions& options, Step* local,
                              std::vector<std::vector<Token>> feeds,
                              std::vector<std::vector<Token>>* results) {
  const uint64_t step = next_step();
  auto shared = std::make_shared<Shared>(remotes_.size());
  for (size_t i = 0; i < remotes_.size(); ++i) ask(step, shared, i, std::move(feeds[i]));
  if (local != nullptr) {
    const Status status = run_local(step, options, local, shared.get());
    if (!status.ok()) shared->fail(status);
  }
  wait(options, shared.get());
  std::unique_lock<std::mutex> lock(shared->mutex);
  const Status failure = shared->failure;
  if (failure.ok()) *results = std::move(shared->results);
  lock.unlock();
  if (!failure.ok()) abort(step, failure, shared.get());
  return failure;
}

void ClusterExecutable::ask(uint64_t step, const std::shared_ptr<Shared>& shared, size_t part,
                            std::vector<Token> feeds) {
  const RemotePart& remote = remotes_[part];
  Message frame;
  frame.type = MessageType::kRun;
  frame.step = step;
  frame.tokens = std::move(feeds);
  BodyWriter body(&frame.body);
  body.number(remote.executable);
  for (const auto& feed : remote.feeds) body.number(static_cast<uint64_t>(feed.index));
  auto reply = [shared, part, connection = remote.connection, first_node = remote.first_node,
                local = local_](const Status& status, Message* answer) {
    if (status.ok()) {
      std::lock_guard<std::mutex> lock(shared->mutex);
      shared->results[part] = std::move(answer->tokens);
      shared->replied[part] = true;
    } else {
      Status failure = status;
      if (answer != nullptr) {
        if (failure.node >= 0) failure.node += first_node;
        failure.message += " (on " + connection->peer() + ")";
      }
      shared->fail(failure);
    }
    const bool last = shared->left.fetch_sub(1) == 1;
    if (last || !status.ok()) futex_wake(&shared->left);
    if (!status.ok() && local != nullptr) local->wake();
  };
  remote.connection->call(std::move(frame), shared.get(), std::move(reply));
}

Status ClusterExecutable::run_local(uint64_t step, const StepOptions& options, Step* local,
                                    Shared* shared) {
  Status status;
  StepTable::EntryPtr entry = task_->steps().start(step, this, &shared->cancellation, &status);
  if (entry == nullptr) return status;
  shared->cancellation.follow(options.cancellation);
  auto* rendezvous = new TaskRendezvous(task_.get(), step, entry);
  StepOptions own = options;
  own.cancellation = &entry->cancellation;
  own.rendezvous = rendezvous;
  status = local->run(own);
  rendezvous->unref();
  if (status.ok()) task_->steps().finish(step);
  return status;
}

// Until all have replied or something has failed.
void ClusterExecutable::wait(const StepOptions& options, Shared* shared) {
  Clock::time_point told = Clock::now();
  while (!shared->failed.load()) {
    const uint32_t left = shared->left.load();
    if (left == 0) return;
    futex_wait(&shared->left, left, kPollInterval);
    if (shared->left.load() == 0) continue;
    const Clock::time_point now = Clock::now();
    if (options.cancellation != nullptr && options.cancellation->cancelled()) {
      shared->fail(options.cancellation->reason());
    } else if (options.deadline.has_value() && now >= *options.deadline) {
      shared->fail(error(StatusCode::kDeadlineExceeded,
                         format("expected the step to end within %g s, got no end: it waits for ",
                                options.time_limit.count()) +
                             awaited(shared)));
    } else if (options.interrupted != nullptr && options.interrupted()) {
      shared->fail(error(StatusCode::kCancelled, "interrupted"));
    } else if (now - told >= kLongWait) {
      told = now;
      std::fprintf(stderr, "qanat: a step has waited %d s for %s\n",
                   static_cast<int>(kLongWait.count()), awaited(shared).c_str());
    }
  }
}

// Tells all tasks, and hears no more of this step.
void ClusterExecutable::abort(uint64_t step, const Status& status, Shared* shared) {
  if (task_ != nullptr) task_->abort(step, status);
  for (const RemotePart& remote : remotes_) {
    Message frame;
    frame.type = MessageType::kAbort;
    frame.step = step;
    BodyWriter(&frame.body).status(status);
    remote.connection->send(std::move(frame));
    remote.connection->forget(shared);
  }
}

std::string ClusterExecutable::awaited(Shared* shared) {
  std::lock_guard<std::mutex> lock(shared->mutex);
  std::string text;
  for (size_t i = 0; i < remotes_.size(); ++i) {
    if (!shared->replied[i]) text += (text.empty() ? "" : ", ") + remotes_[i].connection->peer();
  }
  return text;
}

}  // namespace qanat
