// Kernels that are Python functions, for ops that run seldom; contract: core/python_kernel.py.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_KERNEL_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_KERNEL_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace qanat {

// Says that nodes of `op` whose type attrs are `types` (numbers of dtypes, by name) are run by the
// function in their attr "python_function".
void add_python_kernel(const std::string& op, nanobind::dict types, bool expensive);

// A function as an attr. Borrowed: it has to live as long as the Executable that it is for.
int64_t function_attr(nanobind::handle function);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_PYTHON_KERNEL_H_
