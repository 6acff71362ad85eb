#include "packages/mobile_runtime/native/node_context.h"

#include <cstring>

namespace qanat::mobile {
namespace {

bool overlap(const TensorView& a, const TensorView& b) {
  const auto* const x = static_cast<const char*>(a.data);
  const auto* const y = static_cast<const char*>(b.data);
  return x < y + b.num_bytes() && y < x + a.num_bytes();
}

bool same_bytes(const TensorView& a, const TensorView& b) {
  return a.data == b.data && a.dtype == b.dtype && a.num_bytes() == b.num_bytes();
}

bool contains(const int* numbers, int count, int number) {
  for (int i = 0; i < count; ++i) {
    if (numbers[i] == number) return true;
  }
  return false;
}

}  // namespace

void NodeContext::rehearse(Memory& memory, SharingListener listener, void* arg) {
  rehearsal_ = &memory;
  listener_ = listener;
  listener_arg_ = arg;
}

void NodeContext::perform(char* scratch, size_t bytes) {
  rehearsal_ = nullptr;
  listener_ = nullptr;
  scratch_ = scratch;
  scratch_bytes_ = bytes;
}

bool NodeContext::run(uint32_t node) {
  index_ = node;
  node_ = &program_.file.node(node);
  inputs_ = program_.edges + node_->first_input;
  num_inputs_ = static_cast<int>(node_->inputs);
  made_ = program_.made + node_->first_output;
  scratch_used_ = 0;
  for (uint32_t i = 0; i < node_->outputs; ++i) made_[i] = false;
  program_.nodes[node].kernel->compute(*this);
  if (rehearsal_ != nullptr) rehearsal_->release();
  for (uint32_t i = 0; i < node_->outputs && !failed(); ++i) {
    if (!made_[i]) failf(StatusCode::kInternal, "expected output %u, got none", i);
  }
  return !failed();
}

void NodeContext::fail(StatusCode code, const char* message) {
  failure_.set(code, "[%s] %s (node '%s')", program_.file.c_str(node_->op), message,
               program_.file.c_str(node_->name));
}

const TensorView& NodeContext::output_view(uint32_t i) const {
  return *program_.edges[node_->first_output + i];
}

TensorView* NodeContext::output(int i, const Shape& shape) {
  return planned_output(i, shape, nullptr, 0);
}

TensorView* NodeContext::output_reusing(int i, const Shape& shape, const int* candidates,
                                        int count) {
  TensorView* const out = planned_output(i, shape, candidates, count);
  if (out != nullptr) tell(i, candidates, count);
  return out;
}

bool NodeContext::output_alias(int i, int from, const Shape& shape) {
  TensorView* const out = planned_output(i, shape, &from, 1);
  if (out == nullptr) return false;
  const TensorView& in = input(from);
  if (in.dtype != out->dtype || in.num_elements() != out->num_elements()) {
    fail(StatusCode::kInternal, "expected an alias of the input's type and number of elements");
    return false;
  }
  tell(i, &from, 1);
  if (out->data != in.data) std::memcpy(out->data, in.data, in.num_bytes());
  return true;
}

TensorView* NodeContext::planned_output(int i, const Shape& shape, const int* candidates,
                                        int count) {
  if (i < 0 || static_cast<uint32_t>(i) >= node_->outputs) {
    failf(StatusCode::kInternal, "expected an output below %u, got %d", node_->outputs, i);
    return nullptr;
  }
  const uint32_t output = static_cast<uint32_t>(i);
  TensorView& view = program_.views[program_.file.edges()[node_->first_output + output]];
  if (!(view.shape == shape)) {
    invalid("expected output %d of %lld elements in rank %d, got %lld in rank %d", i,
            static_cast<long long>(view.num_elements()), view.rank(),
            static_cast<long long>(shape.num_elements()), shape.rank());
    return nullptr;
  }
  for (int c = 0; c < count; ++c) {
    if (is_input(candidates[c])) continue;
    failf(StatusCode::kInternal, "expected an input below %d, got %d", num_inputs_, candidates[c]);
    return nullptr;
  }
  if (!may_write(output, candidates, count)) return nullptr;
  made_[output] = true;
  return &view;
}

bool NodeContext::may_write(uint32_t output, const int* candidates, int count) {
  const TensorView& out = output_view(output);
  for (int i = 0; i < num_inputs_; ++i) {
    if (!overlap(out, input(i))) continue;
    if (contains(candidates, count, i) && same_bytes(out, input(i))) continue;
    invalid("expected output %u beside input %d, got a place inside it", output, i);
    return false;
  }
  for (uint32_t other = 0; other < node_->outputs; ++other) {
    if (other == output || !overlap(out, output_view(other))) continue;
    invalid("expected output %u beside output %u, got a place inside it", output, other);
    return false;
  }
  return true;
}

void NodeContext::tell(int output, const int* candidates, int count) {
  if (listener_ == nullptr) return;
  const TensorView& out = output_view(static_cast<uint32_t>(output));
  for (int c = 0; c < count; ++c) {
    const TensorView& in = input(candidates[c]);
    if (in.dtype != out.dtype || in.num_bytes() != out.num_bytes()) continue;
    listener_(listener_arg_, index_, static_cast<uint32_t>(output),
              static_cast<uint32_t>(candidates[c]));
  }
}

void* NodeContext::scratch(size_t bytes) {
  size_t size = 0, end = 0;
  void* memory = nullptr;
  if (!__builtin_add_overflow(bytes, kAlignment - 1, &size)) {
    size -= size % kAlignment;
    if (!__builtin_add_overflow(scratch_used_, size, &end)) {
      if (rehearsal_ != nullptr) {
        memory = rehearsal_->allocate(size);
      } else if (end <= scratch_bytes_) {
        memory = scratch_ + scratch_used_;
      }
    }
  }
  if (memory == nullptr) {
    failf(StatusCode::kResourceExhausted, "expected %zu bytes of memory to work in, got none",
          bytes);
    return nullptr;
  }
  scratch_used_ = end;
  if (end > peak_scratch_) peak_scratch_ = end;
  return memory;
}

bool NodeContext::no_state() {
  fail(StatusCode::kUnimplemented, "expected an op without state, got one that keeps some");
  return false;
}

bool NodeContext::output_variable(int, Text, Text, DType) { return no_state(); }

bool NodeContext::output_resource(int, Resource* made) {
  made->unref();
  return no_state();
}

KeptValue* NodeContext::keep(int) {
  no_state();
  return nullptr;
}

KeptValue* NodeContext::keep_new(DType, const Shape&) {
  no_state();
  return nullptr;
}

}  // namespace qanat::mobile
