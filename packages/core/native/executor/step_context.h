// One thread's part in one step: runs nodes, and is what their kernels see of the world.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_STEP_CONTEXT_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_STEP_CONTEXT_H_

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/resources.h"
#include "packages/core/native/kernel/kernel.h"
#include "packages/core/native/memory/allocator.h"
#include "packages/core/native/rendezvous/rendezvous.h"

namespace qanat {

class Step;
struct Iteration;

// Where the slots and edges lie that the numbers in a node's plan count: those of the step, or
// those of one iteration of a loop.
struct Workplace {
  Tensor* slots = nullptr;
  const TensorView* const* views = nullptr;  // by edge: the view in its slot
  const InputPlan* edges = nullptr;
  const SlotPlan* planned_slots = nullptr;
  // By slot, where other contexts may run nodes of this step at the same time or nodes run out of
  // order; else the last use is known beforehand.
  std::atomic<int32_t>* uses = nullptr;
  const Iteration* iteration = nullptr;  // null for the root
};

class StepContext final : public KernelContext {
 public:
  // `main`: belongs to the thread that called for the step.
  StepContext(Step* step, bool main);

  // Around its part in a step.
  void enter(const Workplace& workplace);
  void leave();
  // Where the nodes are that it executes next.
  void move_to(const Workplace& workplace) { at_ = workplace; }
  Allocator::Cache* cache() const { return cache_; }

  // False where the step has failed. `dead`: for a kernel that runs although its inputs are dead.
  bool execute(const NodePlan& node, bool dead = false);
  // Gives back what a node that is done had of its inputs.
  void release_inputs(const NodePlan& node);
  // Counts a node that was done without execute(): false where it is time to poll().
  bool count_node();

  // Looks at what may end the step from outside: cancellation, the deadline, the caller's signals.
  // False where one did.
  bool poll();

  void fail(StatusCode code, const char* message) override;
  bool failed() const override { return failed_; }
  TensorView* output(int i, const Shape& shape) override;
  TensorView* output_reusing(int i, const Shape& shape, const int* candidates, int count) override;
  bool output_alias(int i, int from, const Shape& shape) override;
  void* scratch(size_t bytes) override;
  Parallel& parallel() override;
  bool output_variable(int i, Text container, Text name, DType dtype) override;
  bool variable_initialized(int handle) override;
  bool read_variable(int handle, int output) override;
  bool assign_variable(int handle, int value) override;
  bool lock_variables(const int* handles, int count, TensorView** values) override;
  void unlock_variables(const int* handles, int count) override;
  bool output_resource(int i, Resource* made) override;
  KeptValue* keep(int input) override;
  KeptValue* keep_new(DType dtype, const Shape& shape) override;
  bool output_kept(int i, KeptValue* value) override;

  // Input i with a share in its buffer, which may be lent.
  Tensor share_input(int i) { return input_slot(i); }

  // What only the host's own kernels see. Those that return a bool or a pointer have said why where
  // it is false or null.
  bool fail_with(const Status& status);
  Rendezvous& rendezvous();
  // Whether the node's inputs are those of a branch that was not taken.
  bool dead() const { return dead_; }
  // The name of the iteration that the node is in, see tag().
  std::string iteration_tag() const;
  // Input i as a value that may outlive the step.
  bool share_input(int i, Tensor* value);
  // The resource whose handle input i is, of that kind.
  Resource* resource(int handle, const char* kind);
  // Output i becomes the handle of a resource, in `container` and made where there was none.
  Resource* output_resource(int i, std::string_view container, std::string_view name,
                            const char* kind, const std::function<Resource*()>& make);
  // Output i, of the planned type.
  void set_output(int i, Tensor value);
  // Around an asynchronous node, on whatever threads; the end may be another context's.
  void begin_async(const NodePlan& node, const Workplace& workplace);
  void end_async(const NodePlan& node);

 private:
  bool run_kernel(const NodePlan& node);
  void run_identity(const NodePlan& node);
  void drop_outputs(const NodePlan& node);

  bool expect_plain_output(int i);
  TensorView* make_output(int i, const Shape& shape);

  Tensor& input_slot(int i);
  Tensor& output_slot(int i);
  DType output_dtype(int i) const { return at_.planned_slots[node_->first_slot + i].dtype; }
  // Whether nobody needs an edge's value after its node.
  bool last_use(const InputPlan& edge) const;
  // Whether input i's value dies with this node and nobody else holds its buffer.
  bool reusable(int i);
  Variable* variable(int handle);
  bool variables(const int* handles, int count);

  Step& step_;
  const bool main_;
  Allocator& allocator_;
  Workplace at_;
  bool failed_ = false;  // this node
  bool dead_ = false;    // its inputs
  const NodePlan* node_ = nullptr;
  Allocator::Cache* cache_ = nullptr;
  // Work until the next poll(), in bytes written; a node costs some, too.
  int64_t budget_ = 0;
  std::vector<Buffer*> scratch_;
  std::vector<Variable*>
      variables_;  // of the last call of variables(): each once, in locking order
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_STEP_CONTEXT_H_
