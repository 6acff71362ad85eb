#include "packages/core/native/bindings/cluster.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/bindings/graph_reader.h"
#include "packages/core/native/bindings/numpy_values.h"
#include "packages/core/native/bindings/python_status.h"
#include "packages/core/native/bindings/run_support.h"
#include "packages/core/native/cluster/cluster_executable.h"

namespace nb = nanobind;

namespace qanat {
namespace {

// Python's objects hold the shared ones: whoever else does, on whatever thread, needs no lock of
// the interpreter to let go.
struct PyConnection {
  std::shared_ptr<Connection> connection;
};

struct PyTask {
  std::shared_ptr<Task> task;

  ~PyTask() {
    nb::gil_scoped_release no_gil;
    task->close(error(StatusCode::kUnavailable, task->name() + " has ended"));
    task.reset();
  }
};

Status status_of(int code, const std::string& message) {
  return error(static_cast<StatusCode>(code), message);
}

PyConnection* open_connection(int socket, const std::string& peer, uint64_t incarnation,
                              uint64_t session, double timeout_s) {
  auto made = std::make_unique<PyConnection>();
  Status status;
  {
    nb::gil_scoped_release no_gil;
    made->connection = Transport::process().add(socket, peer, {});
    status = greet(made->connection, incarnation, session, timeout_s);
  }
  raise_if_failed(status);
  return made.release();
}

// An executable and the Python functions that are kernels of its nodes.
struct WithFunctions {
  std::shared_ptr<Executable> executable;
  PyObject* functions;  // a list

  WithFunctions(std::shared_ptr<Executable> made, nb::list held)
      : executable(std::move(made)), functions(held.release().ptr()) {}
  ~WithFunctions() {
    executable.reset();
    if (!Py_IsInitialized()) return;
    nb::gil_scoped_acquire gil;
    Py_DECREF(functions);
  }
};

// The same executable, which now keeps the functions alive that are attrs of its nodes.
std::shared_ptr<Executable> with_functions(std::shared_ptr<Executable> executable,
                                           nb::sequence nodes) {
  nb::list functions;
  for (nb::handle node : nodes) {
    nb::dict attrs = nb::cast<nb::dict>(node[4]);
    if (attrs.contains("python_function")) functions.append(attrs["python_function"][1]);
  }
  if (functions.size() == 0) return executable;
  Executable* const whole = executable.get();
  auto kept = std::make_shared<WithFunctions>(std::move(executable), std::move(functions));
  return {std::move(kept), whole};
}

uint64_t add_executable(PyTask& self, uint64_t session, nb::sequence nodes, nb::sequence fetches,
                        nb::sequence targets) {
  std::shared_ptr<Executable> executable;
  raise_if_failed(self.task->compile(session, read_graph(nodes, fetches, targets), &executable));
  return self.task->add(session, with_functions(std::move(executable), nodes));
}

// What ClusterExecutable is for Python: it also knows which values of which part are fetched.
class PyClusterExecutable {
 public:
  struct Fetch {
    int part;  // -1: of this process
    size_t index;
  };

  std::unique_ptr<ClusterExecutable> executable;
  std::vector<Fetch> fetches;

  nb::list run(nb::handle feeds, double deadline_s, const Cancellation* cancellation,
               nb::handle trace);

 private:
  std::vector<std::vector<Token>> remote_feeds(nb::handle feeds);
};

std::vector<std::vector<Token>> PyClusterExecutable::remote_feeds(nb::handle feeds) {
  std::vector<std::vector<Token>> all;
  for (const RemotePart& part : executable->remotes()) {
    auto& tokens = all.emplace_back();
    for (const RemotePart::Feed& feed : part.feeds) {
      nb::object value = feeds[feed.index];
      tokens.push_back(
          {tensor_of(static_cast<size_t>(feed.index), feed.dtype, value.ptr()), false});
    }
  }
  return all;
}

nb::list PyClusterExecutable::run(nb::handle feeds, double deadline_s,
                                  const Cancellation* cancellation, nb::handle trace) {
  if (!trace.is_none()) {
    raise(error(StatusCode::kUnimplemented,
                "expected a step of this process alone to trace, got one of a cluster"));
  }
  std::vector<nb::object> lent;  // outlives the lease
  std::optional<Executable::Lease> lease;
  Step* local = nullptr;
  if (Executable* part = executable->local()) {
    local = lease.emplace(part).operator->();
    feed_all(local, part->plan(), feeds, &lent);
  }
  std::vector<std::vector<Token>> given = remote_feeds(feeds);
  const StepOptions options = step_options(deadline_s, cancellation);
  std::vector<std::vector<Token>> results;
  Status status;
  {
    nb::gil_scoped_release no_gil;
    status = executable->run(options, local, std::move(given), &results);
  }
  raise_unless_run(status);
  nb::list values;
  for (const Fetch& fetch : fetches) {
    if (fetch.part < 0) {
      values.append(to_python(std::move(local->results()[fetch.index])));
    } else if (fetch.index < results[fetch.part].size()) {
      values.append(to_python(std::move(results[fetch.part][fetch.index].value)));
    } else {
      raise(error(StatusCode::kInternal, "expected a value a fetch, got fewer"));
    }
  }
  return values;
}

// (connection, number of the executable there, ((index, dtype) of each value it is fed), its first
// node)
RemotePart read_remote(nb::handle tuple) {
  RemotePart part;
  part.connection = nb::cast<PyConnection&>(tuple[0]).connection;
  part.executable = nb::cast<uint64_t>(tuple[1]);
  for (nb::handle feed : nb::object(tuple[2])) {
    part.feeds.push_back({nb::cast<int>(feed[0]), static_cast<DType>(nb::cast<uint8_t>(feed[1]))});
  }
  part.first_node = nb::cast<int>(tuple[3]);
  return part;
}

// `local`: (session, nodes, fetches, targets), or None
PyClusterExecutable* make_executable(PyTask* task, nb::handle local, nb::sequence remotes,
                                     nb::sequence fetches) {
  std::shared_ptr<Executable> own;
  if (task != nullptr && !local.is_none()) {
    nb::object nodes = local[1], outputs = local[2], targets = local[3];
    GraphDef graph = read_graph(nb::cast<nb::sequence>(nodes), nb::cast<nb::sequence>(outputs),
                                nb::cast<nb::sequence>(targets));
    raise_if_failed(task->task->compile(nb::cast<uint64_t>(local[0]), std::move(graph), &own));
    own = with_functions(std::move(own), nb::cast<nb::sequence>(nodes));
  }
  std::vector<RemotePart> parts;
  for (nb::handle remote : remotes) parts.push_back(read_remote(remote));
  auto made = std::make_unique<PyClusterExecutable>();
  for (nb::handle fetch : fetches) {
    made->fetches.push_back({nb::cast<int>(fetch[0]), nb::cast<size_t>(fetch[1])});
  }
  made->executable = std::make_unique<ClusterExecutable>(task == nullptr ? nullptr : task->task,
                                                         std::move(own), std::move(parts));
  return made.release();
}

}  // namespace

void add_cluster(nb::module_& module) {
  nb::class_<PyConnection>(module, "Connection")
      .def(nb::new_(&open_connection), nb::arg("socket"), nb::arg("peer"), nb::arg("incarnation"),
           nb::arg("session"), nb::arg("timeout_s"))
      .def("is_open", [](PyConnection& self) { return self.connection->is_open(); })
      .def(
          "close",
          [](PyConnection& self, int code, const std::string& message) {
            self.connection->close(status_of(code, message));
          },
          nb::arg("code"), nb::arg("message"));
  nb::class_<PyTask>(module, "Task")
      .def(
          "__init__",
          [](PyTask* self, std::string name, uint64_t incarnation, int threads) {
            new (self) PyTask{std::make_shared<Task>(std::move(name), incarnation, threads)};
          },
          nb::arg("name"), nb::arg("incarnation"), nb::arg("threads") = 0)
      .def(
          "listen", [](PyTask& self, int socket) { self.task->listen(socket); }, nb::arg("socket"))
      .def(
          "set_peer",
          [](PyTask& self, const std::string& name, PyConnection& connection) {
            self.task->set_peer(name, connection.connection);
          },
          nb::arg("name"), nb::arg("connection"))
      .def("add_executable", &add_executable, nb::arg("session"), nb::arg("nodes"),
           nb::arg("fetches"), nb::arg("targets"))
      .def(
          "drop_session", [](PyTask& self, uint64_t session) { self.task->drop(session); },
          nb::arg("session"))
      .def(
          "clear",
          [](PyTask& self, const std::string& container) {
            self.task->resources().clear(container);
          },
          nb::arg("container"))
      .def("clear_all", [](PyTask& self) { self.task->resources().clear_all(); })
      .def("steps", [](PyTask& self) { return self.task->steps().size(); })
      .def(
          "close",
          [](PyTask& self, int code, const std::string& message) {
            nb::gil_scoped_release no_gil;
            self.task->close(status_of(code, message));
          },
          nb::arg("code"), nb::arg("message"));
  nb::class_<PyClusterExecutable>(module, "ClusterExecutable")
      .def(nb::new_(&make_executable), nb::arg("task").none(), nb::arg("local").none(),
           nb::arg("remotes"), nb::arg("fetches"))
      .def("run", &PyClusterExecutable::run, nb::arg("feeds"), nb::arg("deadline_s") = 0.0,
           nb::arg("cancellation") = nb::none(), nb::arg("trace") = nb::none());
}

}  // namespace qanat
