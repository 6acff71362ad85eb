// Which nodes of a step may run: for plans without loops whose nodes may run at the same time.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_FLAT_STATE_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_FLAT_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "packages/core/native/device/thread_pool.h"
#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/step_context.h"

namespace qanat {

class Step;

// Counts down each node's dependencies. A cheap node runs on the thread that made it ready; an
// expensive one goes to a set that idle threads of the pool take from, too. Of what it may run a
// thread takes the node that stands first in the plan, so that memory is needed about as in order.
class FlatState final : public AsyncOwner {
 public:
  explicit FlatState(Step* step);

  // Runs the step to its end; `context` is the calling thread's.
  void run(StepContext* context);

  // How many uses of each value are left.
  std::atomic<int32_t>* uses() const { return uses_.get(); }

  // The step may be over once it returns.
  void finish(AsyncRun* run) override;
  // What asynchronous nodes wait for, for people; "" where none does.
  std::string awaited() { return async_.awaited(); }

 private:
  // A thread's own list of ready cheap nodes: a heap, first of the plan on top.
  struct Worker {
    std::unique_ptr<StepContext> own_context;  // none for the calling thread
    StepContext* context = nullptr;
    std::vector<int32_t> ready;
  };

  void reset(StepContext* context);
  bool work(Worker* worker);
  int32_t next(Worker* worker);
  int32_t take_expensive(int32_t before);
  void complete(const NodePlan& node, Worker* worker);
  int release_successors(const NodePlan& node, std::vector<int32_t>* ready);
  void make_ready(int32_t node, std::vector<int32_t>* ready, int* expensive);
  void help();
  void start(const NodePlan& node);
  void take_arrived(Worker* worker);
  void offer_arrived();
  bool finished() const;

  Step& step_;
  ThreadPool& pool_;
  ThreadPool::Offer offer_;
  std::vector<int32_t> by_rank_;  // expensive nodes
  std::unique_ptr<std::atomic<int32_t>[]> dependencies_;
  std::unique_ptr<std::atomic<int32_t>[]> uses_;
  std::unique_ptr<std::atomic<uint64_t>[]> expensive_;  // ready ones, a bit each, by rank
  int32_t words_;
  std::atomic<int32_t> num_expensive_{0};
  std::atomic<int32_t> remaining_{0};
  Worker main_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;
  std::vector<Worker*> idle_;  // guarded by mutex_

  AsyncRuns async_;
  std::vector<AsyncRun*> runs_;   // by rank
  std::vector<int32_t> arrived_;  // guarded by mutex_: nodes that they made ready
  std::atomic<int32_t> num_arrived_{0};
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_FLAT_STATE_H_
