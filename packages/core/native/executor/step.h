// The state of one run of a plan. Kept and used again, so that a repeated step asks for no memory.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_STEP_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_STEP_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "packages/core/native/executor/cancellation.h"
#include "packages/core/native/executor/flat_state.h"
#include "packages/core/native/executor/frame_state.h"
#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/step_context.h"
#include "packages/core/native/executor/step_trace.h"

namespace qanat {

struct StepOptions {
  std::optional<Clock::time_point> deadline;
  std::chrono::duration<double> time_limit{0};  // that led to the deadline, for messages
  const Cancellation* cancellation = nullptr;
  // Asked on the calling thread every so often: true ends the step as cancelled.
  bool (*interrupted)() = nullptr;
  StepTrace* trace = nullptr;  // gets every kernel's times
  // Where the parts of a step meet that has others; null: this is all of it.
  Rendezvous* rendezvous = nullptr;
};

// begin(); fill the arg()s; run(); move the results() out; end().
class Step {
 public:
  Step(const Plan& plan, Runtime* runtime);
  ~Step();
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  void begin();
  // Where the fed value of that index goes; null where the plan does not need it.
  Tensor* arg(size_t index);
  // Memory for it that is not the caller's.
  Status allocate_arg(size_t index, const Shape& shape);
  // Lends it the caller's memory until end(): it must not change before.
  void lend_arg(size_t index, void* data, const Shape& shape);

  // On return no thread is working on this step any more.
  Status run(const StepOptions& options);

  // The fetched values, after a run without failure: shared with nobody, free to be written to.
  std::vector<Tensor>& results() { return results_; }
  void end();

 private:
  friend class StepContext;
  friend class FlatState;
  friend class FrameState;

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  void fail(Status status);
  Rendezvous* rendezvous();
  // What its nodes wait for, for people; "" where none does.
  std::string awaited();
  void run_in_order();
  void check_results();
  Status collect_results();

  const Plan& plan_;
  Runtime& runtime_;
  const StepOptions* options_ = nullptr;
  std::vector<Tensor> slots_;
  std::vector<const TensorView*> inputs_;  // by edge: the view in its slot
  std::vector<Buffer> lent_;               // headers of lent feeds, by index
  std::vector<Tensor> results_;
  StepContext main_;
  Workplace workplace_;
  std::unique_ptr<FlatState> flat_;     // where nodes may run at the same time, or wait
  std::unique_ptr<FrameState> frames_;  // where there is control flow
  Clock::time_point next_signal_check_;
  bool signals_timed_ = false;

  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  Status failure_;                             // guarded by mutex_; the first
  LocalRendezvous* own_rendezvous_ = nullptr;  // guarded by mutex_; where nobody gave one
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_STEP_H_
