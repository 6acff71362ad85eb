// Nodes that wait without a thread: kernels of the host's own, such as _Recv and those of queues.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "packages/core/native/executor/step_context.h"
#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

class AsyncRun;

using Clock = std::chrono::steady_clock;

// How often a caller who waits looks at what may end the step from outside, in ns.
inline constexpr int64_t kPollInterval = 50'000'000;

// Flags beside those of KernelFlags, the host's own. An AsyncKernel is registered with kAsync; a
// kernel that also runs where its inputs are dead (StepContext::dead()), with kRunsDead.
inline constexpr uint32_t kAsync = 1u << 16;
inline constexpr uint32_t kRunsDead = 1u << 17;

class AsyncKernel : public Kernel {
 public:
  // Begins: the run is woken once, perhaps before this returns, with one token an output. An
  // implementation calls wait_at() before it waits; it may not touch the run once it waits.
  virtual void start(AsyncRun* run) = 0;
  // What a node waits for, for people.
  virtual std::string awaited() const = 0;

  void compute(KernelContext&) final {}
};

// Whoever runs the nodes of a step.
class AsyncOwner {
 public:
  // A run has ended, on whatever thread. Its outputs are there unless it failed or is dead.
  virtual void finish(AsyncRun* run) = 0;

 protected:
  ~AsyncOwner() = default;
};

// One asynchronous node that runs, once or in one iteration of a loop. Used again.
class AsyncRun final : public Waiter {
 public:
  AsyncRun(Step* step, AsyncOwner* owner) : owner_(*owner), context_(step, false) {}

  // Begins; `workplace` is where the node's slots and edges lie, in that iteration where the step
  // has any.
  void start(const NodePlan& node, const Workplace& workplace, Iteration* iteration);

  // For kernels.
  StepContext& context() { return context_; }
  void wait_at(WaitingPlace* place);
  // A failure before the wait has begun; the context knows why.
  void give_up() { wake({}, {}); }

  void wake(const Status& status, std::span<Token> tokens) override;

  // Once it has ended.
  const NodePlan& node() const { return *node_; }
  Iteration* iteration() const { return iteration_; }
  // Whether what came is the token of a branch that was not taken.
  bool dead() const { return dead_; }

  // Ends the wait, if it has begun.
  void cancel(const Status& status);
  bool waits();
  std::string awaited() const { return static_cast<AsyncKernel*>(node_->kernel)->awaited(); }

 private:
  void take(std::span<Token> tokens);

  AsyncOwner& owner_;
  StepContext context_;
  const NodePlan* node_ = nullptr;
  Iteration* iteration_ = nullptr;
  bool dead_ = false;
  std::mutex mutex_;
  WaitingPlace* place_ = nullptr;  // guarded by mutex_; holds a reference
};

// The runs of one step. What is said to be the owner's is called under the owner's lock, or where
// no other thread runs nodes.
class AsyncRuns {
 public:
  AsyncRuns(Step* step, AsyncOwner* owner) : step_(step), owner_(owner) {}

  // Of the owner: a run to be started, and one that has ended; without the latter, reset() takes
  // all back.
  AsyncRun* take();
  void give_back(AsyncRun* run) { idle_.push_back(run); }
  void reset();

  // Around each run: the owner's finish() says that it has ended by the last thing it does.
  void begun() { waits_.fetch_add(1, std::memory_order_relaxed); }
  void ended() { waits_.fetch_sub(1, std::memory_order_release); }
  bool any() const { return waits_.load(std::memory_order_acquire) > 0; }

  // Ends all waits. Of the owner: nothing begins any more.
  void cancel_all();
  // Of the owner: what is waited for, for people; "" where nothing is.
  std::string awaited();

  // Of the step's caller: says what it waits for, on stderr, once it has done nothing else for
  // long.
  void progressed() { idle_since_ = Clock::now(); }
  bool too_long();
  static void tell(const std::string& awaited);

 private:
  Step* const step_;
  AsyncOwner* const owner_;
  std::vector<std::unique_ptr<AsyncRun>> all_;
  std::vector<AsyncRun*> idle_;
  std::atomic<int32_t> waits_{0};  // runs that have begun and not ended
  Clock::time_point idle_since_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_
