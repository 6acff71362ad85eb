// Values between NumPy and tensors.
#ifndef PACKAGES_CORE_NATIVE_BINDINGS_NUMPY_VALUES_H_
#define PACKAGES_CORE_NATIVE_BINDINGS_NUMPY_VALUES_H_

#include <nanobind/nanobind.h>

#include <cstddef>

#include "packages/core/native/executor/step.h"
#include "packages/core/native/memory/tensor.h"

namespace qanat {

// Once, before anything else of this file. False, with a Python error, where there is no NumPy.
bool load_numpy();

// A copy of an array, its type told by the array's; object arrays hold bytes.
Tensor tensor_from_array(PyObject* array);

// Gives a step its fed value `index`: copies what is small or not aligned, lends the rest. True
// where it was lent, and `value` must live until the step has ended. Refuses any other type than
// the plan's.
bool feed(Step* step, size_t index, DType dtype, PyObject* value);

// A copy of what a feed takes, for a part of the step that runs elsewhere.
Tensor tensor_of(size_t index, DType dtype, PyObject* value);

// A fetched value as Python sees it: an array that owns the tensor's buffer; for rank 0 a scalar.
nanobind::object to_python(Tensor tensor);

// The same for a value that others use, too: the array cannot be written to.
nanobind::object to_read_only_python(Tensor tensor);

// An array, also of rank 0, in memory of the runtime: elements undefined.
nanobind::object empty_array(int dtype, nanobind::sequence shape);

// What an array holds, given away: the buffer itself where all of the array is one of the
// runtime's, else a copy. Refuses any other type than `dtype`.
Tensor tensor_from_gift(PyObject* array, DType dtype);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BINDINGS_NUMPY_VALUES_H_
