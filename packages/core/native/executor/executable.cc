#include "packages/core/native/executor/executable.h"

namespace qanat {

Status Executable::compile(std::shared_ptr<Runtime> runtime, GraphDef graph,
                           std::unique_ptr<Executable>* executable) {
  Runtime* shared = runtime.get();
  executable->reset(new Executable(std::move(runtime)));
  return make_plan(std::move(graph), shared, &(*executable)->plan_);
}

Step* Executable::borrow_step() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (idle_steps_.empty()) {
    steps_.push_back(std::make_unique<Step>(plan_, runtime_.get()));
    idle_steps_.reserve(steps_.size());
    return steps_.back().get();
  }
  Step* step = idle_steps_.back();
  idle_steps_.pop_back();
  return step;
}

void Executable::return_step(Step* step) {
  std::lock_guard<std::mutex> lock(mutex_);
  idle_steps_.push_back(step);
}

}  // namespace qanat
