// A loop while it runs: frames, and their iterations.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/step_context.h"

namespace qanat {

struct Frame;

// The values of one iteration of a frame, and what its nodes still wait for. Kept and used again.
struct Iteration {
  // With slots of its own, or with those of the root.
  Iteration(const Plan& plan, const FramePlan& frame, const Workplace* root);
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

  // As before the first token. `first`: of its frame.
  void begin(Frame* frame, int64_t number, int64_t age);
  // Drops what nobody took.
  void end(Allocator::Cache* cache);
  // The frame it is of, whichever run of it.
  const FramePlan& plan() const { return plan_; }

  Frame* frame = nullptr;
  int64_t number = 0;
  int64_t age = 0;   // how many iterations began before it in this step
  int64_t busy = 0;  // nodes that are ready or run, and frames that are inside
  std::vector<Frame*> inside;
  std::vector<Waiting> waiting;
  Workplace workplace;

 private:
  const FramePlan& plan_;
  const SlotPlan* const planned_slots_;
  std::vector<Tensor> slots_;
  std::vector<const TensorView*> views_;
  std::unique_ptr<std::atomic<int32_t>[]> uses_;
};

// A token of a value on its way: where there is no buffer it is dead.
struct Delivery {
  int32_t node = 0;  // the Enter or NextIteration that sent it
  Tensor value;
};

// One run of a loop.
struct Frame {
  const FramePlan* plan = nullptr;
  Iteration* parent = nullptr;        // null for the root
  std::deque<Iteration*> iterations;  // in flight, the oldest first
  int32_t enters_left = 0;            // that have not sent their token yet
  std::vector<Delivery> constants;    // for each iteration
  std::vector<Delivery> postponed;    // for the next iteration, while it may not begin
  std::vector<bool> left;             // by Exit: whether its value has left
};

// The iteration's unique name in a step, such as "while:3/inner:0"; empty for the root.
std::string tag(const Iteration& iteration);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_FRAME_H_
