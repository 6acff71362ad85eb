// Nodes that wait without a thread: kernels of the host's own, such as _Recv and those of queues.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "packages/core/native/executor/step_context.h"
#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

class AsyncRun;
class FlatState;

// The flag that an AsyncKernel is registered with, beside those of KernelFlags: the host's own.
inline constexpr uint32_t kAsync = 1u << 16;

class AsyncKernel : public Kernel {
 public:
  // Begins: the run is woken once, perhaps before this returns, with one token an output. An
  // implementation calls wait_at() before it waits; it may not touch the run once it waits.
  virtual void start(AsyncRun* run) = 0;
  // What a node waits for, for people.
  virtual std::string awaited() const = 0;

  void compute(KernelContext&) final {}
};

// One asynchronous node of one step, used again by the next.
class AsyncRun final : public Waiter {
 public:
  AsyncRun(Step* step, FlatState* state, const NodePlan* node)
      : state_(*state), node_(*node), context_(step, false) {}

  StepContext& context() { return context_; }

  void wait_at(WaitingPlace* place);
  void wake(const Status& status, std::span<Token> tokens) override;
  // A failure before the wait has begun; the context knows why.
  void give_up() { wake({}, {}); }

  // Ends the wait, if it has begun.
  void cancel(const Status& status);
  bool waits();
  std::string awaited() const { return static_cast<AsyncKernel*>(node_.kernel)->awaited(); }

 private:
  friend class FlatState;

  void take(std::span<Token> tokens);

  FlatState& state_;
  const NodePlan& node_;
  StepContext context_;
  std::vector<int32_t> ready_;  // what became ready with it, for FlatState
  std::mutex mutex_;
  WaitingPlace* place_ = nullptr;  // guarded by mutex_; holds a reference
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_ASYNC_RUN_H_
