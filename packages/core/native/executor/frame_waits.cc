// The asynchronous nodes of a step with branches or loops.
#include <mutex>

#include "packages/core/native/executor/frame_state.h"
#include "packages/core/native/executor/step.h"

namespace qanat {

void FrameState::start(const Ready& ready, Lock* held) {
  AsyncRun* run = async_.take();
  async_.begun();
  if (shared_) held->unlock();
  run->start(plan_.nodes[ready.node], ready.iteration->workplace, ready.iteration);
  if (shared_) held->lock();
}

void FrameState::finish(AsyncRun* run) {
  bool first = false;  // else somebody is being woken already, and will find this one, too
  {
    const std::lock_guard<std::mutex> held(arrivals_mutex_);
    first = arrived_.empty();
    arrived_.push_back(run);
    num_arrived_.store(static_cast<int32_t>(arrived_.size()), std::memory_order_release);
  }
  if (first) pool_.wake_all();
  async_.ended();  // the last touch
}

void FrameState::take_arrived(Worker* worker) {
  {
    const std::lock_guard<std::mutex> held(arrivals_mutex_);
    taken_.swap(arrived_);
    num_arrived_.store(0, std::memory_order_release);
  }
  // One that has failed has no outputs, but it has stopped the step before it arrived.
  if (!step_.stopped()) {
    for (AsyncRun* run : taken_) arrive(run, worker);
  }
  taken_.clear();
}

void FrameState::arrive(AsyncRun* run, Worker* worker) {
  const NodePlan& node = run->node();
  Iteration* const at = run->iteration();
  const bool dead = run->dead();
  async_.give_back(run);
  worker->context->move_to(at->workplace);
  if (dead) {
    worker->context->release_inputs(node);
  } else {
    worker->context->end_async(node);
    if (node.target) targets_run_[static_cast<size_t>(&node - plan_.nodes.data())] = true;
  }
  send(node, at, dead, -1, worker);
  done(at, worker);
}

std::string FrameState::awaited() {
  const Lock held = lock();
  return async_.awaited();
}

}  // namespace qanat
