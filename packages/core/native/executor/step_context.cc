#include "packages/core/native/executor/step_context.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "packages/core/native/executor/frame.h"
#include "packages/core/native/executor/step.h"

namespace qanat {
namespace {

// A poll is due after about this much written: usually some tens of microseconds of work.
constexpr int64_t kPollBytes = int64_t{1} << 20;
constexpr int64_t kNodeBytes = 4096;  // a node counts for this much even if it writes less
constexpr std::chrono::milliseconds kSignalCheckInterval{50};

}  // namespace

StepContext::StepContext(Step* step, bool main)
    : step_(*step), main_(main), allocator_(step->runtime_.allocator()) {}

void StepContext::enter(const Workplace& workplace) {
  at_ = workplace;
  budget_ = kPollBytes;
  node_ = nullptr;
  cache_ = allocator_.borrow_cache();
}

void StepContext::leave() {
  allocator_.return_cache(cache_);
  cache_ = nullptr;
}

bool StepContext::execute(const NodePlan& node, bool dead) {
  node_ = &node;
  dead_ = dead;
  if (node.role == Role::kKernel) {
    if (!run_kernel(node)) return false;
  } else if (node.role == Role::kIdentity) {
    run_identity(node);
  }
  release_inputs(node);
  if (node.drops_outputs) drop_outputs(node);
  return count_node() || poll();
}

bool StepContext::count_node() {
  budget_ -= kNodeBytes;
  return budget_ > 0;
}

bool StepContext::run_kernel(const NodePlan& node) {
  inputs_ = at_.views + node.first_input;
  num_inputs_ = node.num_inputs;
  failed_ = false;
  StepTrace* const trace = step_.options_->trace;
  const int64_t begin = trace == nullptr ? 0 : trace->now();
  node.kernel->compute(*this);
  if (trace != nullptr) trace->add(node.index, begin);
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
  Tensor& to = at_.slots[node.first_slot];
  to.view = from.view;
  to.buffer = from.buffer;
  to.buffer->ref();
}

void StepContext::release_inputs(const NodePlan& node) {
  const InputPlan* edges = at_.edges + node.first_input;
  for (int i = 0; i < node.num_inputs; ++i) {
    const InputPlan& edge = edges[i];
    const bool done = at_.uses != nullptr
                          ? edge.only || (edge.counted && at_.uses[edge.slot].fetch_sub(
                                                              1, std::memory_order_acq_rel) == 1)
                          : edge.last;
    if (done) at_.slots[edge.slot].reset(cache_);
  }
}

void StepContext::drop_outputs(const NodePlan& node) {
  for (int i = 0; i < node.num_outputs; ++i) {
    const SlotPlan& slot = at_.planned_slots[node.first_slot + i];
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
    const std::string awaited = step_.awaited();
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
  const std::string where = iteration_tag();
  step_.fail(error(code, where.empty() ? message : message + (" (in iteration " + where + ")"),
                   node_->index));
}

bool StepContext::fail_with(const Status& status) {
  if (!status.ok()) fail(status.code, status.message.c_str());
  return status.ok();
}

// --- the host's own kernels ---

Rendezvous& StepContext::rendezvous() { return *step_.rendezvous(); }

std::string StepContext::iteration_tag() const {
  return at_.iteration == nullptr ? "" : tag(*at_.iteration);
}

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
  return output_resource(i, made) ? made : nullptr;
}

void StepContext::set_output(int i, Tensor value) {
  const DType dtype = output_dtype(i);
  if (value.buffer == nullptr || value.view.dtype != dtype) {
    return failf(StatusCode::kInternal, "expected a value of %s for output %d, got %s",
                 dtype_name(dtype), i, dtype_name(value.view.dtype));
  }
  output_slot(i) = std::move(value);
}

void StepContext::begin_async(const NodePlan& node, const Workplace& workplace) {
  node_ = &node;
  at_ = workplace;
  failed_ = false;
  inputs_ = at_.views + node.first_input;
  num_inputs_ = node.num_inputs;
}

void StepContext::end_async(const NodePlan& node) {
  node_ = &node;
  release_inputs(node);
  if (node.drops_outputs) drop_outputs(node);
}

Tensor& StepContext::input_slot(int i) { return at_.slots[at_.edges[node_->first_input + i].slot]; }

Tensor& StepContext::output_slot(int i) { return at_.slots[node_->first_slot + i]; }

// Handles are counted: whoever wrote them as plain memory would share what he does not hold.
bool StepContext::expect_plain_output(int i) {
  if (output_dtype(i) != DType::kResource) return true;
  failf(StatusCode::kInvalidArgument, "expected a value as output %d, got a handle's type", i);
  return false;
}

TensorView* StepContext::output(int i, const Shape& shape) {
  return expect_plain_output(i) ? make_output(i, shape) : nullptr;
}

TensorView* StepContext::make_output(int i, const Shape& shape) {
  Tensor& slot = output_slot(i);
  const DType dtype = output_dtype(i);
  if (!slot.allocate(dtype, shape, &allocator_, cache_)) {
    fail_with(exhausted(dtype, shape));
    return nullptr;
  }
  budget_ -= static_cast<int64_t>(slot.view.num_bytes());
  return &slot.view;
}

bool StepContext::last_use(const InputPlan& edge) const {
  if (at_.uses == nullptr) return edge.last;
  return edge.only || (edge.counted && at_.uses[edge.slot].load(std::memory_order_acquire) == 1);
}

bool StepContext::reusable(int i) {
  const InputPlan& edge = at_.edges[node_->first_input + i];
  if (!edge.sole || !last_use(edge)) return false;
  const Buffer* buffer = at_.slots[edge.slot].buffer;
  return buffer != nullptr && buffer->exclusive();
}

TensorView* StepContext::output_reusing(int i, const Shape& shape, const int* candidates,
                                        int count) {
  if (!expect_plain_output(i)) return nullptr;
  const DType dtype = output_dtype(i);
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
  const DType dtype = output_dtype(i);
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

bool StepContext::output_variable(int i, Text container, Text name, DType dtype) {
  Variable* made = nullptr;
  return fail_with(step_.runtime_.resources().variable(container, name, dtype, &made)) &&
         output_resource(i, made);
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
  const DType dtype = output_dtype(output);
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

// --- resources of kernel libraries ---

namespace {

class KeptTensor final : public KeptValue {
 public:
  const TensorView& view() const override { return value.view; }
  Tensor value;
};

}  // namespace

bool StepContext::output_resource(int i, Resource* made) {
  TensorView* handle = output_dtype(i) == DType::kResource ? make_output(i, Shape()) : nullptr;
  if (handle == nullptr) {
    made->unref();
    fail(StatusCode::kInternal, "expected a resource output for a handle");
    return false;
  }
  *handle->as<Resource*>() = made;
  return true;
}

KeptValue* StepContext::keep(int input) {
  const Tensor& value = input_slot(input);
  auto* kept = new KeptTensor;
  if (value.buffer->kind != BufferKind::kBorrowed) {
    kept->value = value;
  } else if (!value.copy_to(&kept->value, &allocator_, cache_)) {
    fail_with(exhausted(value.view.dtype, value.view.shape));
    kept->unref();
    return nullptr;
  }
  return kept;
}

KeptValue* StepContext::keep_new(DType dtype, const Shape& shape) {
  auto* kept = new KeptTensor;
  if (kept->value.allocate(dtype, shape, &allocator_, cache_)) return kept;
  fail_with(exhausted(dtype, shape));
  kept->unref();
  return nullptr;
}

bool StepContext::output_kept(int i, KeptValue* value) {
  const Tensor& kept = static_cast<KeptTensor*>(value)->value;
  if (kept.view.dtype != output_dtype(i)) {
    failf(StatusCode::kInvalidArgument, "expected values of %s, got %s",
          dtype_name(output_dtype(i)), dtype_name(kept.view.dtype));
    return false;
  }
  output_slot(i) = kept;
  return true;
}

}  // namespace qanat
