// The module qanat.core._native; its contract is _native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <vector>

#include "packages/core/native/base/crc32c.h"
#include "packages/core/native/bindings/cluster.h"
#include "packages/core/native/bindings/graph_reader.h"
#include "packages/core/native/bindings/numpy_values.h"
#include "packages/core/native/bindings/python_kernel.h"
#include "packages/core/native/bindings/python_status.h"
#include "packages/core/native/bindings/run_support.h"
#include "packages/core/native/executor/cancellation.h"
#include "packages/core/native/executor/executable.h"
#include "packages/core/native/executor/kernel_registry.h"
#include "packages/core/native/executor/resources.h"
#include "packages/core/native/executor/runtime.h"
#include "packages/core/native/queues/kernels.h"

namespace nb = nanobind;

namespace qanat {
namespace {

nb::list list_kernels() {
  nb::list kernels;
  for (const KernelDef& def : LoadedKernels::process().all()) {
    nb::dict types;
    for (int i = 0; i < def.num_types; ++i) {
      types[def.types[i].attr] = static_cast<int>(def.types[i].dtype);
    }
    kernels.append(nb::make_tuple(def.op, types, def.flags));
  }
  for (const BuiltIn& own : kBuiltIns) kernels.append(nb::make_tuple(own.op, nb::dict(), 0));
  return kernels;
}

nb::list list_control_flow_ops() {
  nb::list ops;
  for (const BuiltIn& own : kBuiltIns) {
    if (own.controls_flow) ops.append(own.op);
  }
  return ops;
}

nb::dict memory_of(Runtime& runtime) {
  const MemoryStats stats = runtime.allocator().stats();
  nb::dict memory;
  memory["in_use"] = stats.in_use;
  memory["peak"] = stats.peak;
  memory["reserved"] = stats.reserved;
  memory["fresh_pages"] = stats.fresh_pages;
  return memory;
}

uint32_t crc32c_of(nb::handle data, uint32_t before) {
  Py_buffer view;
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  uint32_t crc;
  {
    nb::gil_scoped_release no_gil;
    crc = crc32c(view.buf, static_cast<size_t>(view.len), before);
  }
  PyBuffer_Release(&view);
  return crc;
}

Executable* compile(std::shared_ptr<Runtime> runtime, nb::sequence nodes, nb::sequence fetches,
                    nb::sequence targets) {
  std::unique_ptr<Executable> executable;
  raise_if_failed(
      Executable::compile(std::move(runtime), read_graph(nodes, fetches, targets), &executable));
  return executable.release();
}

// (node, thread, begin, end) of each kernel that has run.
nb::list events_of(const StepTrace& trace) {
  nb::list events;
  for (const StepTrace::Event& event : trace.events()) {
    events.append(nb::make_tuple(event.node, event.thread, event.begin, event.end));
  }
  return events;
}

nb::list run(Executable& executable, nb::handle feeds, double deadline_s,
             const Cancellation* cancellation, StepTrace* trace) {
  std::vector<nb::object> lent;  // outlives the lease
  Executable::Lease step(&executable);
  feed_all(step.operator->(), executable.plan(), feeds, &lent);
  StepOptions options = step_options(deadline_s, cancellation);
  options.trace = trace;
  Status status;
  {
    nb::gil_scoped_release no_gil;
    status = step->run(options);
  }
  raise_unless_run(status);
  nb::list results;
  for (Tensor& result : step->results()) results.append(to_python(std::move(result)));
  return results;
}

}  // namespace
}  // namespace qanat

NB_MODULE(_native, m) {
  using namespace qanat;  // NOLINT: the names bound below
  if (!load_numpy()) throw nb::python_error();
  // A daemon thread still in a step when Python ends keeps objects that nobody can free then.
  nb::set_leak_warnings(false);
  remember_main_thread();
  add_status_error(m);
  for (auto add : {register_queue_kernels, register_accumulator_kernels}) {
    raise_if_failed(LoadedKernels::process().add_all(add));
  }
  m.def(
      "load_kernel_library",
      [](const std::string& path) { raise_if_failed(LoadedKernels::process().load_library(path)); },
      nb::arg("path"));
  m.def("kernels", &list_kernels);
  m.def("add_python_kernel", &add_python_kernel, nb::arg("op"), nb::arg("types"),
        nb::arg("expensive"));
  m.def("empty", &empty_array, nb::arg("dtype"), nb::arg("shape"));
  m.def("control_flow_ops", &list_control_flow_ops);
  m.def("crc32c", &crc32c_of, nb::arg("data"), nb::arg("before") = 0);

  nb::class_<Resources>(m, "Resources")
      .def(nb::init<>())
      .def(
          "clear", [](Resources& self, const std::string& container) { self.clear(container); },
          nb::arg("container"));
  nb::class_<Runtime>(m, "Runtime")
      .def(nb::init<int, std::shared_ptr<Resources>>(), nb::arg("threads"), nb::arg("resources"))
      .def("memory", &memory_of);
  nb::class_<Cancellation>(m, "Cancellation")
      .def(nb::init<>())
      .def(
          "cancel",
          [](Cancellation& self, int code, const std::string& message) {
            self.cancel(static_cast<StatusCode>(code), message);
          },
          nb::arg("code"), nb::arg("message"));
  nb::class_<StepTrace>(m, "StepTrace").def(nb::init<>()).def("events", &events_of);
  nb::class_<Executable>(m, "Executable", nb::dynamic_attr())
      .def(nb::new_(&compile), nb::arg("runtime"), nb::arg("nodes"), nb::arg("fetches"),
           nb::arg("targets"))
      .def("run", &run, nb::arg("feeds"), nb::arg("deadline_s") = 0.0,
           nb::arg("cancellation") = nb::none(), nb::arg("trace") = nb::none());
  add_cluster(m);
}
