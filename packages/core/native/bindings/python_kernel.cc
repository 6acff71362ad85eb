#include "packages/core/native/bindings/python_kernel.h"

#include <nanobind/stl/string.h>

#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "packages/core/native/bindings/numpy_values.h"
#include "packages/core/native/bindings/python_status.h"
#include "packages/core/native/executor/kernel_registry.h"
#include "packages/core/native/executor/step_context.h"
#include "packages/core/native/kernel/registry.h"

namespace nb = nanobind;

namespace qanat {
namespace {

constexpr const char* kFunctionAttr = "python_function";

// An input that Python may keep as long as it likes: a lent one only lives as long as its step.
nb::object input_array(StepContext& step, int i) {
  Tensor value = step.share_input(i);
  if (value.buffer->kind == BufferKind::kBorrowed) {
    Tensor copy;
    if (!value.copy_to(&copy, &Allocator::process())) {
      raise(exhausted(value.view.dtype, value.view.shape));
    }
    value = std::move(copy);
  }
  return to_read_only_python(std::move(value));
}

// The step fails as the exception says. One that is meant for the interpreter, KeyboardInterrupt,
// stays with the thread, so that the call that runs the step raises it.
void fail(StepContext& step, nb::python_error& error) {
  if (!error.matches(PyExc_Exception)) {
    error.restore();
    step.fail(StatusCode::kCancelled, "interrupted");
    return;
  }
  auto code = static_cast<int>(StatusCode::kInternal);
  std::string message = error.what();
  if (nb::hasattr(error.value(), "code") && nb::hasattr(error.value(), "message")) {
    nb::try_cast(error.value().attr("code"), code);
    nb::try_cast(error.value().attr("message"), message);
  }
  step.fail(static_cast<StatusCode>(code), message.c_str());
}

// Calls a function (*inputs) -> list of output arrays. Only the call holds the interpreter's lock.
// Whoever compiles keeps the function: the Executable's Python object, where the garbage collector
// sees it, or `with_functions` for a part of a cluster's step.
class PythonKernel final : public Kernel {
 public:
  explicit PythonKernel(KernelInit& init)
      : num_outputs_(init.num_outputs()),
        function_(reinterpret_cast<PyObject*>(init.int_attr(kFunctionAttr))) {
    for (int i = 0; i < num_outputs_; ++i) dtypes_.push_back(init.output_dtype(i));
  }

  void compute(KernelContext& context) override {
    auto& step = static_cast<StepContext&>(context);  // this module has no other host
    nb::gil_scoped_acquire gil;
    try {
      set_outputs(step, call(step));
    } catch (nb::python_error& error) {
      fail(step, error);
    } catch (const std::exception& error) {
      step.fail(StatusCode::kInternal, error.what());
    }
  }

 private:
  nb::list call(StepContext& step) const {
    nb::list inputs;
    for (int i = 0; i < step.num_inputs(); ++i) inputs.append(input_array(step, i));
    return nb::cast<nb::list>(nb::handle(function_)(*inputs));
  }

  void set_outputs(StepContext& step, nb::list values) const {
    if (static_cast<int>(values.size()) != num_outputs_) {
      step.failf(StatusCode::kInternal, "expected %d outputs of the function, got %zu",
                 num_outputs_, values.size());
      return;
    }
    for (int i = 0; i < num_outputs_; ++i) {
      step.set_output(i, tensor_from_gift(values[static_cast<size_t>(i)].ptr(), dtypes_[i]));
    }
  }

  const int num_outputs_;
  PyObject* const function_;
  std::vector<DType> dtypes_;
};

}  // namespace

void add_python_kernel(const std::string& op, nb::dict types, bool expensive) {
  static std::deque<std::string>* const texts = new std::deque<std::string>;  // never moved
  KernelDef def{
      texts->emplace_back(op).c_str(),
      {},
      0,
      expensive ? kExpensive : kPlain,
      sizeof(PythonKernel),
      alignof(PythonKernel),
      [](void* memory, KernelInit& init) -> Kernel* { return new (memory) PythonKernel(init); }};
  for (auto [attr, number] : types) {
    if (def.num_types == kMaxTypeConstraints) {
      raise(error(StatusCode::kInvalidArgument,
                  format("expected %d types at most", kMaxTypeConstraints)));
    }
    def.types[def.num_types++] = {texts->emplace_back(nb::cast<std::string>(attr)).c_str(),
                                  static_cast<DType>(nb::cast<int>(number))};
  }
  raise_if_failed(LoadedKernels::process().add(def));
}

int64_t function_attr(nb::handle function) { return reinterpret_cast<int64_t>(function.ptr()); }

}  // namespace qanat
