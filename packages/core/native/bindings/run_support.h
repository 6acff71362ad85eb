// What every way of running a step from Python needs.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_RUN_SUPPORT_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_RUN_SUPPORT_H_

#include <nanobind/nanobind.h>

#include <vector>

#include "packages/core/native/executor/cancellation.h"
#include "packages/core/native/executor/step.h"

namespace qanat {

// Once, on import.
void remember_main_thread();

// `deadline_s`: 0 for none. Signals are looked for where this is the main thread.
StepOptions step_options(double deadline_s, const Cancellation* cancellation);

// Gives a step the values its plan needs of all fed ones. Those that are lent go to `lent`, and
// must live until the step has ended.
void feed_all(Step* step, const Plan& plan, nanobind::handle feeds,
              std::vector<nanobind::object>* lent);

// Raises a step's failure; or what a signal's handler has raised, if that has ended it.
void raise_unless_run(const Status& status);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_RUN_SUPPORT_H_
