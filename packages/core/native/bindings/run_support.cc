#include "packages/core/native/bindings/run_support.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "packages/core/native/bindings/numpy_values.h"
#include "packages/core/native/bindings/python_status.h"

namespace nb = nanobind;

namespace qanat {
namespace {

// Signal handlers run on this thread alone; others need not ask.
unsigned long main_thread = 0;

// Leaves the handler's exception, KeyboardInterrupt as a rule, with the thread.
bool interrupted() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

void remember_main_thread() {
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}

StepOptions step_options(double deadline_s, const Cancellation* cancellation) {
  StepOptions options;
  options.cancellation = cancellation;
  if (deadline_s > 0) {
    options.time_limit = std::chrono::duration<double>(std::min(deadline_s, 1e9));
    options.deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(options.time_limit);
  }
  if (PyThread_get_thread_ident() == main_thread) options.interrupted = interrupted;
  return options;
}

// Keeps `feeds` alive as a whole; an array that is lent gets a reference of its own, because the
// sequence may change under way.
void feed_all(Step* step, const Plan& plan, nb::handle feeds, std::vector<nb::object>* lent) {
  nb::object fast = nb::steal(PySequence_Fast(feeds.ptr(), "expected a sequence of feeds"));
  if (!fast.is_valid()) throw nb::python_error();
  const auto given = static_cast<size_t>(PySequence_Fast_GET_SIZE(fast.ptr()));
  if (given < plan.args.size()) {
    raise(error(StatusCode::kInvalidArgument,
                format("expected %zu feeds, got %zu", plan.args.size(), given)));
  }
  for (size_t i = 0; i < plan.args.size(); ++i) {
    if (plan.args[i] < 0) continue;
    nb::object value = nb::borrow(PySequence_Fast_GET_ITEM(fast.ptr(), static_cast<Py_ssize_t>(i)));
    if (feed(step, i, plan.arg_dtypes[i], value.ptr())) lent->push_back(std::move(value));
  }
}

void raise_unless_run(const Status& status) {
  if (status.ok()) return;
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  raise(status);
}

}  // namespace qanat
