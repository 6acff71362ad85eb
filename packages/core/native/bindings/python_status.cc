#include "packages/core/native/bindings/python_status.h"

namespace nb = nanobind;

namespace qanat {
namespace {

PyObject* status_error = nullptr;

}  // namespace

void add_status_error(nb::module_& module) {
  status_error = PyErr_NewExceptionWithDoc(
      "qanat.core._native.StatusError",
      "A step or a compilation failed: see `code`, `message` and `node`.", nullptr, nullptr);
  module.attr("StatusError") = nb::handle(status_error);
}

void raise(const Status& status) {
  // A kernel's message may hold any bytes.
  nb::object message = nb::steal(PyUnicode_DecodeUTF8(
      status.message.data(), static_cast<Py_ssize_t>(status.message.size()), "replace"));
  nb::object raised = nb::handle(status_error)(message);
  raised.attr("code") = static_cast<int>(status.code);
  raised.attr("message") = message;
  raised.attr("node") = status.node;
  PyErr_SetObject(status_error, raised.ptr());
  throw nb::python_error();
}

}  // namespace qanat
