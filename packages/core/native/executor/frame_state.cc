#include "packages/core/native/executor/frame_state.h"

#include <algorithm>
#include <utility>

#include "packages/core/native/executor/step.h"

namespace qanat {

FrameState::FrameState(Step* step)
    : step_(*step),
      plan_(step->plan_),
      pool_(step->runtime_.pool()),
      offer_(
          &pool_, [](void* self, int64_t) { static_cast<FrameState*>(self)->help(); }, this),
      shared_(plan_.concurrent && pool_.threads() > 1),
      targets_run_(plan_.nodes.size(), false),
      root_iteration_(plan_, plan_.frames[0], &step->workplace_),
      idle_iterations_(plan_.frames.size()),
      async_(step, this) {
  root_.plan = &plan_.frames[0];
  step->workplace_ = root_iteration_.workplace;
  if (!shared_) return;
  for (int i = 1; i < pool_.threads(); ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->own_context = std::make_unique<StepContext>(step, false);
    workers_.back()->context = workers_.back()->own_context.get();
    idle_.push_back(workers_.back().get());
  }
}

FrameState::~FrameState() = default;

const NodePlan* FrameState::missed_target() const {
  for (int32_t target : plan_.targets) {
    if (!targets_run_[static_cast<size_t>(target)]) return &plan_.nodes[target];
  }
  return nullptr;
}

// --- threads ---

void FrameState::run(StepContext* context) {
  begin(context);
  if (shared_) offer_.open();
  async_.progressed();
  while (true) {
    if (work(&main_)) async_.progressed();
    if (finished()) break;
    const uint32_t seen = pool_.events();
    if (finished()) break;
    if (num_expensive_.load() > 0 || num_arrived_.load() > 0 || pool_.help()) continue;
    pool_.wait(seen, kPollInterval);
    if (!context->poll()) break;
    if (async_.too_long()) AsyncRuns::tell(awaited());
  }
  offer_.close();
  async_.cancel_all();
  clear();
}

void FrameState::begin(StepContext* context) {
  main_.context = context;
  main_.ready.clear();
  expensive_.clear();
  num_expensive_.store(0);
  active_.store(0);
  expensive_added_ = 0;
  ages_ = 0;
  std::fill(targets_run_.begin(), targets_run_.end(), false);
  root_.iterations.assign(1, &root_iteration_);
  root_iteration_.begin(&root_, 0, ages_++);
  const auto nodes = static_cast<int32_t>(plan_.nodes.size());
  for (int32_t i = 0; i < nodes; ++i) {
    if (plan_.nodes[i].dependencies > 0) continue;
    make_ready(&root_iteration_, i, -1, false, &main_);
  }
  if (expensive_added_ > 1 && shared_) offer_.add(expensive_added_ - 1);
  expensive_added_ = 0;
}

// However the step ended, nothing of it stays.
void FrameState::clear() {
  for (auto& pool : idle_iterations_) pool.clear();
  for (const auto& iteration : iterations_) {
    iteration->end(main_.context->cache());
    idle_iterations_of(iteration->plan()).push_back(iteration.get());
  }
  idle_frames_.clear();
  for (const auto& frame : frames_) {
    frame->constants.clear();
    frame->postponed.clear();
    frame->iterations.clear();
    idle_frames_.push_back(frame.get());
  }
  root_iteration_.inside.clear();
  async_.reset();
  arrived_.clear();
  num_arrived_.store(0);
}

bool FrameState::finished() const { return step_.stopped() || active_.load() == 0; }

FrameState::Lock FrameState::lock() { return shared_ ? Lock(mutex_) : Lock(); }

// A worker of the pool joins in until there is nothing to do for it.
void FrameState::help() {
  Worker* worker = nullptr;
  {
    const Lock held(mutex_);
    if (idle_.empty()) return;
    worker = idle_.back();
    idle_.pop_back();
    worker->ready.clear();
  }
  worker->context->enter(root_iteration_.workplace);
  work(worker);
  worker->context->leave();
  const Lock held(mutex_);
  idle_.push_back(worker);
}

// False where there was nothing to do.
bool FrameState::work(Worker* worker) {
  Lock held = lock();
  Ready ready;
  bool any = false;
  while (!step_.stopped() && next(worker, &ready)) {
    any = true;
    if (!run_node(ready, worker, &held)) break;
  }
  if (finished()) pool_.wake_all();
  return any;
}

void FrameState::done(Iteration* at, Worker* worker) {
  settle(at, worker);
  // Of what became ready this thread takes one itself; others are offered the rest.
  const int others = worker->ready.empty() ? expensive_added_ - 1 : expensive_added_;
  expensive_added_ = 0;
  if (shared_ && others > 0) offer_.add(others);
  active_.fetch_sub(1);
}

// Cheap nodes first: they may make more ready for others, of iterations to come, too.
bool FrameState::next(Worker* worker, Ready* ready) {
  if (num_arrived_.load(std::memory_order_acquire) > 0) take_arrived(worker);
  std::vector<Ready>* from = &worker->ready;
  if (from->empty() && !expensive_.empty()) {
    from = &expensive_;
    num_expensive_.fetch_sub(1);
  }
  if (from->empty()) return false;
  std::pop_heap(from->begin(), from->end(), Later());
  *ready = from->back();
  from->pop_back();
  return true;
}

void FrameState::make_ready(Iteration* at, int32_t node, int32_t live, bool dead, Worker* worker) {
  ++at->busy;
  active_.fetch_add(1, std::memory_order_relaxed);
  const bool to_share = shared_ && plan_.nodes[node].expensive && !dead;
  std::vector<Ready>& to = to_share ? expensive_ : worker->ready;
  to.push_back({at, at->age, node, live, dead});
  std::push_heap(to.begin(), to.end(), Later());
  if (!to_share) return;
  num_expensive_.fetch_add(1);
  ++expensive_added_;
}

// --- nodes ---

bool FrameState::run_node(const Ready& ready, Worker* worker, Lock* held) {
  const NodePlan& node = plan_.nodes[ready.node];
  Iteration* const at = ready.iteration;
  StepContext* const context = worker->context;
  context->move_to(at->workplace);
  const bool runs =
      node.role == Role::kKernel || node.role == Role::kIdentity || node.role == Role::kNoOp;
  if (runs && (!ready.dead || node.runs_dead)) {
    if (shared_) held->unlock();
    const bool executed = context->execute(node, ready.dead);
    if (shared_) held->lock();
    if (!executed) return false;
    if (node.target) targets_run_[ready.node] = true;
    send(node, at, ready.dead, -1, worker);
    done(at, worker);
    return true;
  }
  if (node.role == Role::kAsync && !ready.dead) {
    start(ready, held);
    return true;
  }
  if (node.target && !ready.dead) targets_run_[ready.node] = true;
  bool run = true;
  switch (node.role) {
    case Role::kSwitch:
      run = ready.dead ? run_dead(node, ready, worker) : run_switch(node, at, worker);
      break;
    case Role::kMerge:
      run = ready.dead ? run_dead(node, ready, worker) : run_merge(node, ready, worker);
      break;
    case Role::kEnter:
      run = run_enter(node, ready, worker);
      break;
    case Role::kExit:
      // A dead token that comes to an Exit says only that this was not the last iteration.
      run = ready.dead || run_exit(node, at, worker);
      break;
    case Role::kNextIteration:
      run = ready.dead || run_next_iteration(node, ready, worker);
      break;
    default:
      run = run_dead(node, ready, worker);
  }
  if (!run) return false;
  done(at, worker);
  if (context->count_node()) return true;
  if (shared_) held->unlock();
  const bool go_on = context->poll();
  if (shared_) held->lock();
  return go_on;
}

bool FrameState::run_dead(const NodePlan& node, const Ready& ready, Worker* worker) {
  worker->context->release_inputs(node);
  send(node, ready.iteration, ready.dead, -1, worker);
  return true;
}

bool FrameState::run_switch(const NodePlan& node, Iteration* at, Worker* worker) {
  const TensorView& chooses = *at->workplace.views[node.first_input + 1];
  if (chooses.num_elements() != 1) {
    return fail(StatusCode::kInvalidArgument,
                "expected one bool to choose a branch by, got another number of them", node, at);
  }
  const int taken = *chooses.as<bool>() ? 1 : 0;
  const SlotPlan& output = at->workplace.planned_slots[node.first_slot + taken];
  Tensor value = take_input(node, 0, *at);
  take_input(node, 1, *at).reset(worker->context->cache());
  if (output.uses > 0 || output.fetched) {
    at->workplace.slots[node.first_slot + taken] = std::move(value);
  } else {
    value.reset(worker->context->cache());
  }
  send(node, at, false, taken, worker);
  return true;
}

bool FrameState::run_merge(const NodePlan& node, const Ready& ready, Worker* worker) {
  const Workplace& in = ready.iteration->workplace;
  Tensor value = take_input(node, ready.live, *ready.iteration);
  const SlotPlan* outputs = in.planned_slots + node.first_slot;
  if (outputs[0].uses > 0 || outputs[0].fetched) {
    in.slots[node.first_slot] = std::move(value);
  } else {
    value.reset(worker->context->cache());
  }
  if (outputs[1].uses > 0 || outputs[1].fetched) {
    Tensor& index = in.slots[node.first_slot + 1];
    Allocator& allocator = step_.runtime_.allocator();
    if (!index.allocate(DType::kInt32, Shape(), &allocator, worker->context->cache())) {
      const Status status = exhausted(DType::kInt32, Shape());
      return fail(status.code, status.message.c_str(), node, ready.iteration);
    }
    *index.view.as<int32_t>() = ready.live;
  }
  send(node, ready.iteration, false, -1, worker);
  return true;
}

bool FrameState::run_enter(const NodePlan& node, const Ready& ready, Worker* worker) {
  Frame* frame = enter_frame(ready.iteration, node.entered, worker);
  Tensor value;
  if (ready.dead) {
    worker->context->release_inputs(node);
  } else {
    value = take_input(node, 0, *ready.iteration);
  }
  if (node.constant) {
    for (Iteration* iteration : frame->iterations) deliver(node, iteration, value, worker);
    frame->constants.push_back({ready.node, std::move(value)});
  } else {
    deliver(node, frame->iterations.front(), std::move(value), worker);
  }
  --frame->enters_left;
  // What waited for this Enter may be over now: as if one thing fewer were going on.
  Iteration* const first = frame->iterations.front();
  ++first->busy;
  settle(first, worker);
  return true;
}

bool FrameState::run_exit(const NodePlan& node, Iteration* at, Worker* worker) {
  if (at->frame->left[node.exit]) {
    return fail(StatusCode::kInvalidArgument,
                "expected a value to leave the loop once, got a second one", node, at);
  }
  at->frame->left[node.exit] = true;
  deliver(node, at->frame->parent, take_input(node, 0, *at), worker);
  return true;
}

bool FrameState::run_next_iteration(const NodePlan& node, const Ready& ready, Worker* worker) {
  Iteration* const at = ready.iteration;
  Frame* const frame = at->frame;
  Tensor value = take_input(node, 0, *at);
  Iteration* to = nullptr;
  if (at != frame->iterations.back()) {
    const auto offset = static_cast<size_t>(at->number + 1 - frame->iterations.front()->number);
    to = frame->iterations[offset];
  } else if (static_cast<int64_t>(frame->iterations.size()) < frame->plan->parallel_iterations) {
    to = begin_iteration(frame, at->number + 1, worker);
  }
  if (to == nullptr) {
    frame->postponed.push_back({ready.node, std::move(value)});
  } else {
    deliver(node, to, std::move(value), worker);
  }
  return true;
}

// --- tokens ---

Tensor FrameState::take_input(const NodePlan& node, int32_t input, const Iteration& at) {
  const Workplace& in = at.workplace;
  const InputPlan& edge = in.edges[node.first_input + input];
  Tensor& slot = in.slots[edge.slot];
  const bool last = edge.only || (edge.counted &&
                                  in.uses[edge.slot].fetch_sub(1, std::memory_order_acq_rel) == 1);
  return last ? std::move(slot) : slot;
}

void FrameState::deliver(const NodePlan& node, Iteration* to, Tensor value, Worker* worker) {
  const SlotPlan& output = to->workplace.planned_slots[node.first_slot];
  const bool dead = value.buffer == nullptr;
  if (output.uses > 0 || output.fetched) {
    to->workplace.slots[node.first_slot] = std::move(value);
  } else {
    value.reset(worker->context->cache());
  }
  send(node, to, dead, -1, worker);
}

void FrameState::send(const NodePlan& node, Iteration* to, bool dead, int taken, Worker* worker) {
  const TokenPlan* tokens = plan_.tokens.data() + node.first_successor;
  for (int32_t i = 0; i < node.num_successors; ++i) {
    const TokenPlan& token = tokens[i];
    receive(token, to, dead || (taken >= 0 && token.output >= 0 && token.output != taken), worker);
  }
}

void FrameState::receive(const TokenPlan& token, Iteration* at, bool dead, Worker* worker) {
  const NodePlan& node = plan_.nodes[token.node];
  if (node.role == Role::kMerge) return receive_at_merge(token, at, dead, worker);
  Waiting& waiting = at->waiting[static_cast<size_t>(node.place)];
  waiting.dead = waiting.dead || (dead && node.role != Role::kControlTrigger);
  if (--waiting.tokens == 0) make_ready(at, token.node, -1, waiting.dead, worker);
}

void FrameState::receive_at_merge(const TokenPlan& token, Iteration* at, bool dead,
                                  Worker* worker) {
  const NodePlan& node = plan_.nodes[token.node];
  Waiting& waiting = at->waiting[static_cast<size_t>(node.place)];
  if (token.output < 0) {
    --waiting.tokens;
  } else {
    --waiting.values;
    if (!dead && waiting.live < 0) {
      waiting.live = token.input;
    } else if (!dead) {
      take_input(node, token.input, *at).reset(worker->context->cache());
    }
  }
  if (waiting.ready || waiting.tokens > 0 || (waiting.live < 0 && waiting.values > 0)) return;
  waiting.ready = true;
  make_ready(at, token.node, waiting.live, waiting.live < 0, worker);
}

// --- frames ---

Frame* FrameState::enter_frame(Iteration* parent, int32_t number, Worker* worker) {
  const FramePlan* plan = &plan_.frames[static_cast<size_t>(number)];
  for (Frame* frame : parent->inside) {
    if (frame->plan == plan) return frame;
  }
  if (idle_frames_.empty()) {
    frames_.push_back(std::make_unique<Frame>());
    idle_frames_.push_back(frames_.back().get());
  }
  Frame* frame = idle_frames_.back();
  idle_frames_.pop_back();
  frame->plan = plan;
  frame->parent = parent;
  frame->enters_left = plan->num_enters;
  frame->left.assign(static_cast<size_t>(plan->num_exits), false);
  parent->inside.push_back(frame);
  ++parent->busy;
  begin_iteration(frame, 0, worker);
  return frame;
}

Iteration* FrameState::begin_iteration(Frame* frame, int64_t number, Worker* worker) {
  std::vector<Iteration*>& idle = idle_iterations_of(*frame->plan);
  if (idle.empty()) {
    iterations_.push_back(std::make_unique<Iteration>(plan_, *frame->plan, nullptr));
    idle.push_back(iterations_.back().get());
  }
  Iteration* iteration = idle.back();
  idle.pop_back();
  iteration->begin(frame, number, ages_++);
  frame->iterations.push_back(iteration);
  for (const Delivery& constant : frame->constants) {
    deliver(plan_.nodes[constant.node], iteration, constant.value, worker);
  }
  return iteration;
}

void FrameState::settle(Iteration* at, Worker* worker) {
  --at->busy;
  Frame* frame = at->frame;
  if (frame == &root_) return;
  while (!frame->iterations.empty() && end_oldest(frame, worker)) {
  }
  if (frame->iterations.empty()) end_frame(frame, worker);
}

// An iteration is over once nothing goes on in it and nothing can come into it any more.
bool FrameState::end_oldest(Frame* frame, Worker* worker) {
  Iteration* oldest = frame->iterations.front();
  if (oldest->busy > 0 || frame->enters_left > 0) return false;
  const int64_t next = oldest->number + 1;
  frame->iterations.pop_front();
  oldest->end(worker->context->cache());
  idle_iterations_of(*frame->plan).push_back(oldest);
  if (frame->postponed.empty()) return true;
  const int64_t number = frame->iterations.empty() ? next : frame->iterations.back()->number + 1;
  Iteration* begun = begin_iteration(frame, number, worker);
  for (Delivery& delivery : frame->postponed) {
    deliver(plan_.nodes[delivery.node], begun, std::move(delivery.value), worker);
  }
  frame->postponed.clear();
  return true;
}

// Whatever did not leave it is dead outside.
void FrameState::end_frame(Frame* frame, Worker* worker) {
  Iteration* const parent = frame->parent;
  for (int32_t exit : frame->plan->exits) {
    const NodePlan& node = plan_.nodes[exit];
    if (!frame->left[static_cast<size_t>(node.exit)]) send(node, parent, true, -1, worker);
  }
  for (Delivery& constant : frame->constants) constant.value.reset(worker->context->cache());
  frame->constants.clear();
  std::vector<Frame*>& inside = parent->inside;
  inside.erase(std::find(inside.begin(), inside.end(), frame));
  idle_frames_.push_back(frame);
  settle(parent, worker);
}

bool FrameState::fail(StatusCode code, const char* message, const NodePlan& node,
                      const Iteration* at) {
  const std::string where = tag(*at);
  step_.fail(error(code, where.empty() ? message : message + (" (in iteration " + where + ")"),
                   node.index));
  return false;
}

}  // namespace qanat
