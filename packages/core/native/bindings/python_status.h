// Failures as Python's StatusError.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_STATUS_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_STATUS_H_

#include <nanobind/nanobind.h>

#include "packages/core/native/base/status.h"

namespace qanat {

void add_status_error(nanobind::module_& module);

// Raises StatusError, by nanobind's C++ exception.
[[noreturn]] void raise(const Status& status);

inline void raise_if_failed(const Status& status) {
  if (!status.ok()) raise(status);
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_STATUS_H_
