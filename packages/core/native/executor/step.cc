#include "packages/core/native/executor/step.h"

#include <algorithm>
#include <utility>

namespace qanat {

Step::Step(const Plan& plan, Runtime* runtime)
    : plan_(plan),
      runtime_(*runtime),
      slots_(static_cast<size_t>(plan.frames[0].num_slots)),
      lent_(plan.args.size()),
      results_(plan.fetches.size()),
      main_(this, true) {
  std::copy(plan.constants.begin(), plan.constants.end(), slots_.begin());
  for (int32_t i = 0; i < plan.frames[0].num_inputs; ++i) {
    inputs_.push_back(&slots_[plan.inputs[i].slot].view);
  }
  workplace_ = {slots_.data(), inputs_.data(), plan.inputs.data(), plan.slots.data()};
  for (Buffer& header : lent_) header.kind = BufferKind::kBorrowed;
  const bool concurrent = plan.concurrent && runtime->pool().threads() > 1;
  if (plan.has_control_flow) {
    frames_ = std::make_unique<FrameState>(this);
  } else if (concurrent || plan.num_async > 0) {
    flat_ = std::make_unique<FlatState>(this);
    workplace_.uses = flat_->uses();
  }
}

Step::~Step() = default;

// Stopped until it runs: a step that never does must be cleared as one that failed.
void Step::begin() {
  stopped_.store(true, std::memory_order_relaxed);
  main_.enter(workplace_);
}

Tensor* Step::arg(size_t index) {
  const int32_t slot = index < plan_.args.size() ? plan_.args[index] : -1;
  if (slot < 0) return nullptr;
  const SlotPlan& planned = plan_.slots[slot];
  return planned.uses > 0 || planned.fetched ? &slots_[slot] : nullptr;
}

Status Step::allocate_arg(size_t index, const Shape& shape) {
  const DType dtype = plan_.arg_dtypes[index];
  if (arg(index)->allocate(dtype, shape, &runtime_.allocator(), main_.cache())) return {};
  return exhausted(dtype, shape);
}

void Step::lend_arg(size_t index, void* data, const Shape& shape) {
  Buffer& header = lent_[index];
  header.refs.store(1, std::memory_order_relaxed);
  header.data = data;
  Tensor& tensor = *arg(index);
  tensor.buffer = &header;
  tensor.view = {data, plan_.arg_dtypes[index], shape};
}

Status Step::run(const StepOptions& options) {
  options_ = &options;
  signals_timed_ = false;
  stopped_.store(false, std::memory_order_relaxed);
  const bool limited = options.cancellation != nullptr || options.deadline.has_value();
  if (!limited || main_.poll()) {
    if (frames_ != nullptr) {
      frames_->run(&main_);
      if (!stopped()) check_results();
    } else if (flat_ != nullptr) {
      flat_->run(&main_);
    } else {
      run_in_order();
    }
  }
  options_ = nullptr;
  if (!stopped()) return collect_results();
  return std::exchange(failure_, Status{});
}

void Step::run_in_order() {
  for (const NodePlan& node : plan_.nodes) {
    if (!main_.execute(node)) return;
  }
}

Rendezvous* Step::rendezvous() {
  if (options_->rendezvous != nullptr) return options_->rendezvous;
  std::lock_guard<std::mutex> lock(mutex_);
  if (own_rendezvous_ == nullptr) own_rendezvous_ = new LocalRendezvous;
  return own_rendezvous_;
}

std::string Step::awaited() {
  if (frames_ != nullptr) return frames_->awaited();
  return flat_ != nullptr ? flat_->awaited() : "";
}

void Step::fail(Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_.load(std::memory_order_relaxed)) return;
  failure_ = std::move(status);
  stopped_.store(true, std::memory_order_release);
}

// Where there is control flow, a value may never come about.
void Step::check_results() {
  if (const NodePlan* target = frames_->missed_target()) {
    return fail(
        error(StatusCode::kInvalidArgument,
              "expected a node that this step reaches, got one in a branch that it does not "
              "take",
              target->index));
  }
  for (const FetchPlan& fetch : plan_.fetches) {
    if (slots_[fetch.slot].buffer != nullptr) continue;
    return fail(error(StatusCode::kInvalidArgument,
                      "expected a value to fetch, got none: it is in a branch that this step does "
                      "not take",
                      fetch.node));
  }
}

Status Step::collect_results() {
  const auto constants = static_cast<int32_t>(plan_.constants.size());
  for (size_t i = 0; i < results_.size(); ++i) {
    const FetchPlan& fetch = plan_.fetches[i];
    Tensor& slot = slots_[fetch.slot];
    const bool needed = fetch.again || fetch.slot < constants;
    if (!needed && slot.buffer->exclusive()) {
      results_[i] = std::move(slot);
      continue;
    }
    if (!slot.copy_to(&results_[i], &runtime_.allocator(), main_.cache())) {
      fail(exhausted(slot.view.dtype, slot.view.shape));
      return std::exchange(failure_, Status{});
    }
    if (!needed) slot.reset(main_.cache());
  }
  return {};
}

void Step::end() {
  if (own_rendezvous_ != nullptr) std::exchange(own_rendezvous_, nullptr)->unref();
  if (stopped() || frames_ != nullptr) {
    for (size_t i = plan_.constants.size(); i < slots_.size(); ++i) slots_[i].reset(main_.cache());
  }
  for (Tensor& result : results_) result.reset(main_.cache());
  main_.leave();
}

}  // namespace qanat
