// A compiled plan: immutable, run by any number of threads at once.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_EXECUTABLE_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_EXECUTABLE_H_

#include <memory>
#include <mutex>
#include <vector>

#include "packages/core/native/executor/plan.h"
#include "packages/core/native/executor/runtime.h"
#include "packages/core/native/executor/step.h"

namespace qanat {

class Executable {
 public:
  static Status compile(std::shared_ptr<Runtime> runtime, GraphDef graph,
                        std::unique_ptr<Executable>* executable);

  const Plan& plan() const { return plan_; }
  // Wakes the steps that wait, so that they look whether they are cancelled.
  void wake() { runtime_->pool().wake_all(); }

  // A step of this plan that has begun; it ends with the lease.
  class Lease {
   public:
    explicit Lease(Executable* executable)
        : executable_(executable), step_(executable->borrow_step()) {
      step_->begin();
    }
    ~Lease() {
      step_->end();
      executable_->return_step(step_);
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    Step* operator->() const { return step_; }

   private:
    Executable* const executable_;
    Step* const step_;
  };

 private:
  explicit Executable(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}

  Step* borrow_step();
  void return_step(Step* step);

  const std::shared_ptr<Runtime> runtime_;
  Plan plan_;
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<Step*> idle_steps_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_EXECUTABLE_H_
