// Which nodes of a step may run: for plans with branches and loops.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_STATE_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "packages/core/native/device/thread_pool.h"
#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/frame.h"
#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/step_context.h"

namespace qanat {

class Step;

// The model of Yu et al., "Dynamic control flow in large-scale machine learning" (EuroSys 2018),
// section 4: what flows along edges are tokens (value, is_dead, tag), where the tag is the
// Iteration that a value lies in.
//
// One lock guards all book-keeping; kernels run outside of it. One thread alone takes no lock. Of
// what it may run a thread takes what belongs to the oldest iteration, and there what stands first
// in the plan: so few iterations are alive at once, and memory is needed about as in order. Where
// others may help, it leaves expensive nodes to them as long as it has cheap ones.
//
// An asynchronous node counts as running from its start on. Whoever ends its wait, on whatever
// thread, only says so: the threads of the step do the book-keeping.
class FrameState final : public AsyncOwner {
 public:
  explicit FrameState(Step* step);
  ~FrameState();
  FrameState(const FrameState&) = delete;
  FrameState& operator=(const FrameState&) = delete;

  // Runs the step to its end; `context` is the calling thread's.
  void run(StepContext* context);

  // A node that was to be run and was not, because it is dead or nothing ever reached it.
  const NodePlan* missed_target() const;

  // The step may be over once it returns.
  void finish(AsyncRun* run) override;
  // What asynchronous nodes wait for, for people; "" where none does.
  std::string awaited();

 private:
  struct Ready {
    Iteration* iteration = nullptr;
    int64_t age = 0;
    int32_t node = 0;
    int32_t live = -1;  // of a Merge: the input to take
    bool dead = false;
  };
  struct Later {
    bool operator()(const Ready& a, const Ready& b) const {
      return a.age != b.age ? a.age > b.age : a.node > b.node;
    }
  };
  // A thread's own list of what is ready and cheap: a heap, the first on top.
  struct Worker {
    std::unique_ptr<StepContext> own_context;  // none for the calling thread
    StepContext* context = nullptr;
    std::vector<Ready> ready;
  };
  using Lock = std::unique_lock<std::mutex>;

  void begin(StepContext* context);
  void clear();
  bool work(Worker* worker);
  void help();
  bool finished() const;
  Lock lock();
  bool next(Worker* worker, Ready* ready);
  bool run_node(const Ready& ready, Worker* worker, Lock* lock);
  // A node has sent its tokens.
  void done(Iteration* at, Worker* worker);

  // What a node of each role does with its tokens. False where the step has failed.
  bool run_dead(const NodePlan& node, const Ready& ready, Worker* worker);
  bool run_switch(const NodePlan& node, Iteration* at, Worker* worker);
  bool run_merge(const NodePlan& node, const Ready& ready, Worker* worker);
  bool run_enter(const NodePlan& node, const Ready& ready, Worker* worker);
  bool run_exit(const NodePlan& node, Iteration* at, Worker* worker);
  bool run_next_iteration(const NodePlan& node, const Ready& ready, Worker* worker);

  // Asynchronous nodes.
  void start(const Ready& ready, Lock* lock);
  void take_arrived(Worker* worker);
  void arrive(AsyncRun* run, Worker* worker);

  void make_ready(Iteration* at, int32_t node, int32_t live, bool dead, Worker* worker);
  // Sends a node's tokens to nodes of an iteration: those from output `taken`, or from all (-1),
  // are live unless all are dead.
  void send(const NodePlan& node, Iteration* to, bool dead, int taken, Worker* worker);
  void receive(const TokenPlan& token, Iteration* at, bool dead, Worker* worker);
  void receive_at_merge(const TokenPlan& token, Iteration* at, bool dead, Worker* worker);
  // Puts a value into a node's only output and sends it.
  void deliver(const NodePlan& node, Iteration* to, Tensor value, Worker* worker);
  // The value of an input: a share of it or, at its last use, what was in the slot.
  static Tensor take_input(const NodePlan& node, int32_t input, const Iteration& at);

  std::vector<Iteration*>& idle_iterations_of(const FramePlan& frame) {
    return idle_iterations_[static_cast<size_t>(&frame - plan_.frames.data())];
  }
  Frame* enter_frame(Iteration* parent, int32_t frame, Worker* worker);
  Iteration* begin_iteration(Frame* frame, int64_t number, Worker* worker);
  // One thing fewer is going on there; ends iterations and frames that are over.
  void settle(Iteration* at, Worker* worker);
  bool end_oldest(Frame* frame, Worker* worker);
  void end_frame(Frame* frame, Worker* worker);

  bool fail(StatusCode code, const char* message, const NodePlan& node, const Iteration* at);

  Step& step_;
  const Plan& plan_;
  ThreadPool& pool_;
  ThreadPool::Offer offer_;
  const bool shared_;  // several threads may work
  std::mutex mutex_;   // guards what follows but atomics, where shared
  std::vector<Ready> expensive_;
  std::atomic<int32_t> num_expensive_{0};
  std::atomic<int64_t> active_{0};  // nodes that are ready or run
  int expensive_added_ = 0;         // since the worker last offered some
  int64_t ages_ = 0;
  std::vector<bool> targets_run_;
  Worker main_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
  Frame root_;
  Iteration root_iteration_;
  std::vector<std::unique_ptr<Frame>> frames_;
  std::vector<Frame*> idle_frames_;
  std::vector<std::unique_ptr<Iteration>> iterations_;
  std::vector<std::vector<Iteration*>> idle_iterations_;  // by frame of the plan
  AsyncRuns async_;
  std::vector<AsyncRun*> taken_;
  std::mutex arrivals_mutex_;
  std::vector<AsyncRun*> arrived_;  // guarded by arrivals_mutex_: runs that have ended
  std::atomic<int32_t> num_arrived_{0};
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_STATE_H_
