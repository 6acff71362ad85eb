#include "packages/core/native/executor/step_context.h"

#include <algorithm>
#include <chrono>

#include "packages/core/native/executor/step.h"

namespace qanat {
namespace {

// A poll is due after about this much written: usually some tens of microseconds of work.
constexpr int64_t kPollBytes = int64_t{1} << 20;
constexpr int64_t kNodeBytes = 4096;  // a node counts for this much even if it writes less
constexpr std::chrono::milliseconds kSignalCheckInterval{50};

}  // namespace

StepContext::StepContext(Step* step, bool main)
    : step_(*step),
      main_(main),
      allocator_(step->runtime_.allocator()),
      slots_(step->slots_.data()),
      edges_(step->plan_.inputs.data()),
      planned_slots_(step->plan_.slots.data()) {}

void StepContext::enter(bool counted) {
  counted_ = counted;
  budget_ = kPollBytes;
  node_ = nullptr;
  cache_ = allocator_.borrow_cache();
}

void StepContext::leave() {
  allocator_.return_cache(cache_);
  cache_ = nullptr;
}

bool StepContext::execute(const NodePlan& node) {
  node_ = &node;
  if (node.role == Role::kKernel) {
    if (!run_kernel(node)) return false;
  } else if (node.role == Role::kIdentity) {
    run_identity(node);
  }
  release_inputs(node);
  if (node.drops_outputs) drop_outputs(node);
  budget_ -= kNodeBytes;
  return budget_ > 0 || poll();
}

bool StepContext::run_kernel(const NodePlan& node) {
  inputs_ = step_.inputs_.data() + node.first_input;
  num_inputs_ = node.num_inputs;
  failed_ = false;
  node.kernel->compute(*this);
  for (Buffer* buffer : scratch_) unref(buffer, cache_);
  scratch_.clear();
  if (failed_) return false;
  for (int i = 0; i < node.num_outputs; ++i) {
    if (output_slot(i).buffer == nullptr) {
      failf(StatusCode::kInternal, "expected the kernel to make output %d, got none", i);
      return false;
    }
  }
  if (node.expensive) budget_ = 0;
  return true;
}

void StepContext::run_identity(const NodePlan& node) {
  const Tensor& from = input_slot(0);
  Tensor& to = slots_[node.first_slot];
  to.view = from.view;
  to.buffer = from.buffer;
  to.buffer->ref();
}

void StepContext::release_inputs(const NodePlan& node) {
  const InputPlan* edges = edges_ + node.first_input;
  for (int i = 0; i < node.num_inputs; ++i) {
    const InputPlan& edge = edges[i];
    const bool done =
        counted_ ? edge.only || (edge.counted && step_.flat_->use_up(edge.slot)) : edge.last;
    if (done) slots_[edge.slot].reset(cache_);
  }
}

void StepContext::drop_outputs(const NodePlan& node) {
  for (int i = 0; i < node.num_outputs; ++i) {
    const SlotPlan& slot = planned_slots_[node.first_slot + i];
    if (slot.uses == 0 && !slot.fetched) output_slot(i).reset(cache_);
  }
}

bool StepContext::poll() {
  budget_ = kPollBytes;
  const StepOptions& options = *step_.options_;
  if (options.cancellation != nullptr && options.cancellation->cancelled()) {
    step_.fail(options.cancellation->reason());
    return false;
  }
  const bool signals = main_ && options.interrupted != nullptr;
  if (!options.deadline.has_value() && !signals) return true;
  const Clock::time_point now = Clock::now();
  if (options.deadline.has_value() && now >= *options.deadline) {
    const std::string awaited = step_.flat_ != nullptr ? step_.flat_->awaited() : "";
    step_.fail(error(
        StatusCode::kDeadlineExceeded,
        format("expected the step to end within %g s, got no end", options.time_limit.count()) +
            (awaited.empty() ? "" : ": it waits for " + awaited),
        node_ == nullptr || !awaited.empty() ? -1 : node_->index));
    return false;
  }
  if (!signals) return true;
  if (!step_.signals_timed_ || now >= step_.next_signal_check_) {
    const bool first = !std::exchange(step_.signals_timed_, true);
    step_.next_signal_check_ = now + kSignalCheckInterval;
    if (!first && options.interrupted()) {
      step_.fail(error(StatusCode::kCancelled, "interrupted"));
      return false;
    }
  }
  return true;
}

void StepContext::fail(StatusCode code, const char* message) {
  if (failed_) return;
  failed_ = true;
  step_.fail(error(code, message, node_->index));
}

bool StepContext::fail_with(const Status& status) {
  if (!status.ok()) fail(status.code, status.message.c_str());
  return status.ok();
}

// --- the host's own kernels ---

Rendezvous& StepContext::rendezvous() { return *step_.rendezvous(); }

bool StepContext::share_input(int i, Tensor* value) {
  const Tensor& input = input_slot(i);
  if (input.buffer->kind != BufferKind::kBorrowed) {
    *value = input;
    return true;
  }
  return input.copy_to(value, &allocator_) ||
         fail_with(exhausted(input.view.dtype, input.view.shape));
}

Resource* StepContext::resource(int handle, const char* kind) {
  const TensorView& view = input(handle);
  if (view.dtype != DType::kResource || view.num_elements() != 1 ||
      *view.as<Resource*>() == nullptr) {
    failf(StatusCode::kInvalidArgument, "expected input %d to be a %s's handle, got none", handle,
          kind);
    return nullptr;
  }
  Resource* found = *view.as<Resource*>();
  if (std::string_view(found->kind()) == kind) return found;
  failf(StatusCode::kInvalidArgument, "expected input %d to be a %s's handle, got a %s's", handle,
        kind, found->kind());
  return nullptr;
}

Resource* StepContext::output_resource(int i, std::string_view container, std::string_view name,
                                       const char* kind, const std::function<Resource*()>& make) {
  Resource* made = nullptr;
  if (!fail_with(step_.runtime_.resources().find_or_make(container, name, kind, make, &made))) {
    return nullptr;
  }
  return output_handle(i, made) ? made : nullptr;
}

// Takes over the caller's reference.
bool StepContext::output_handle(int i, Resource* resource) {
  TensorView* handle = output(i, Shape());
  if (handle != nullptr && handle->dtype != DType::kResource) {
    fail(StatusCode::kInternal, "expected a resource output for a handle");
    handle = nullptr;
  }
  if (handle == nullptr) {
    resource->unref();
    return false;
  }
  *handle->as<Resource*>() = resource;
  return true;
}

void StepContext::set_output(int i, Tensor value) {
  const DType dtype = planned_slots_[node_->first_slot + i].dtype;
  if (value.buffer == nullptr || value.view.dtype != dtype) {
    return failf(StatusCode::kInternal, "expected a value of %s for output %d, got %s",
                 dtype_name(dtype), i, dtype_name(value.view.dtype));
  }
  output_slot(i) = std::move(value);
}

void StepContext::begin_async(const NodePlan& node) {
  node_ = &node;
  counted_ = true;
  failed_ = false;
  inputs_ = step_.inputs_.data() + node.first_input;
  num_inputs_ = node.num_inputs;
}

void StepContext::end_async(const NodePlan& node) {
  release_inputs(node);
  if (node.drops_outputs) drop_outputs(node);
}

Tensor& StepContext::input_slot(int i) { return slots_[edges_[node_->first_input + i].slot]; }

Tensor& StepContext::output_slot(int i) { return slots_[node_->first_slot + i]; }

TensorView* StepContext::output(int i, const Shape& shape) {
  Tensor& slot = output_slot(i);
  const DType dtype = planned_slots_[node_->first_slot + i].dtype;
  if (!slot.allocate(dtype, shape, &allocator_, cache_)) {
    fail_with(exhausted(dtype, shape));
    return nullptr;
  }
  budget_ -= static_cast<int64_t>(slot.view.num_bytes());
  return &slot.view;
}

bool StepContext::reusable(int i) {
  const InputPlan& edge = edges_[node_->first_input + i];
  if (!edge.sole) return false;
  const bool dies =
      counted_ ? edge.only || (edge.counted && step_.flat_->last_use(edge.slot)) : edge.last;
  const Buffer* buffer = slots_[edge.slot].buffer;
  return dies && buffer != nullptr && buffer->exclusive();
}

TensorView* StepContext::output_reusing(int i, const Shape& shape, const int* candidates,
                                        int count) {
  const DType dtype = planned_slots_[node_->first_slot + i].dtype;
  for (int c = 0; c < count; ++c) {
    const int from = candidates[c];
    Tensor& source = input_slot(from);
    if (source.view.dtype != dtype || source.view.num_elements() != shape.num_elements() ||
        !reusable(from)) {
      continue;
    }
    Tensor& slot = output_slot(i);
    slot.reset(cache_);
    slot.buffer = std::exchange(source.buffer, nullptr);
    slot.view.data = source.view.data;
    slot.view.dtype = dtype;
    slot.view.shape = shape;
    budget_ -= static_cast<int64_t>(slot.view.num_bytes());
    return &slot.view;
  }
  return output(i, shape);
}

bool StepContext::output_alias(int i, int from, const Shape& shape) {
  Tensor& source = input_slot(from);
  const DType dtype = planned_slots_[node_->first_slot + i].dtype;
  if (source.buffer == nullptr || source.view.dtype != dtype ||
      source.view.num_elements() != shape.num_elements()) {
    fail(StatusCode::kInternal, "expected an alias of the input's type and number of elements");
    return false;
  }
  Tensor& slot = output_slot(i);
  slot.reset(cache_);
  source.buffer->ref();
  slot.buffer = source.buffer;
  slot.view = {source.view.data, dtype, shape};
  return true;
}

void* StepContext::scratch(size_t bytes) {
  Buffer* buffer = allocator_.allocate(bytes, cache_);
  if (buffer == nullptr) {
    failf(StatusCode::kResourceExhausted,
          "expected %zu bytes of memory to work in, got none: it is exhausted", bytes);
    return nullptr;
  }
  scratch_.push_back(buffer);
  return buffer->data;
}

Parallel& StepContext::parallel() { return step_.runtime_.pool(); }

// --- variables ---

bool StepContext::output_variable(int i, std::string_view container, std::string_view name,
                                  DType dtype) {
  Variable* made = nullptr;
  return fail_with(step_.runtime_.resources().variable(container, name, dtype, &made)) &&
         output_handle(i, made);
}

Variable* StepContext::variable(int handle) {
  return static_cast<Variable*>(resource(handle, Variable::kKind));
}

bool StepContext::variable_initialized(int handle) {
  Variable* held = variable(handle);
  return held != nullptr && held->initialized();
}

bool StepContext::read_variable(int handle, int output) {
  Variable* held = variable(handle);
  if (held == nullptr) return false;
  const DType dtype = planned_slots_[node_->first_slot + output].dtype;
  if (held->dtype() != dtype) {
    failf(StatusCode::kInvalidArgument, "expected variable \"%s\" to be of %s, got one of %s",
          held->name().c_str(), dtype_name(dtype), dtype_name(held->dtype()));
    return false;
  }
  return fail_with(held->read(&output_slot(output)));
}

bool StepContext::assign_variable(int handle, int value) {
  Variable* held = variable(handle);
  return held != nullptr && fail_with(held->assign(input_slot(value), &allocator_));
}

bool StepContext::variables(const int* handles, int count) {
  variables_.clear();
  for (int i = 0; i < count; ++i) {
    Variable* held = variable(handles[i]);
    if (held == nullptr) return false;
    variables_.push_back(held);
  }
  std::sort(variables_.begin(), variables_.end());
  variables_.erase(std::unique(variables_.begin(), variables_.end()), variables_.end());
  return true;
}

bool StepContext::lock_variables(const int* handles, int count, TensorView** values) {
  if (!variables(handles, count)) return false;
  for (size_t locked = 0; locked < variables_.size(); ++locked) {
    TensorView* value = nullptr;
    if (!fail_with(variables_[locked]->lock(&value, &allocator_))) {
      while (locked > 0) variables_[--locked]->unlock();
      return false;
    }
    for (int i = 0; i < count; ++i) {
      if (variable(handles[i]) == variables_[locked]) values[i] = value;
    }
  }
  return true;
}

void StepContext::unlock_variables(const int* handles, int count) {
  if (!variables(handles, count)) return;
  for (Variable* held : variables_) held->unlock();
}

}  // namespace qanat
