#include "packages/core/native/bindings/graph_reader.h"

#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "packages/core/native/bindings/numpy_values.h"
#include "packages/core/native/bindings/python_kernel.h"

namespace nb = nanobind;

namespace qanat {
namespace {

std::string read_text(nb::handle value) {
  if (nb::isinstance<nb::bytes>(value)) {
    nb::bytes bytes = nb::borrow<nb::bytes>(value);
    return std::string(bytes.c_str(), bytes.size());
  }
  return nb::cast<std::string>(value);
}

DType read_dtype(nb::handle value) { return static_cast<DType>(nb::cast<uint8_t>(value)); }

Port read_port(nb::handle pair) { return {nb::cast<int>(pair[0]), nb::cast<int>(pair[1])}; }

PartialShape read_shape(nb::handle dims) {
  PartialShape shape;
  shape.known_rank = !dims.is_none();
  if (!shape.known_rank) return shape;
  for (nb::handle dim : dims) shape.dims.push_back(dim.is_none() ? -1 : nb::cast<int64_t>(dim));
  return shape;
}

bool is_tagged(nb::handle value, const char* tag) {
  if (!nb::isinstance<nb::tuple>(value) || nb::len(value) != 2) return false;
  nb::object first = value[0];
  return nb::isinstance<nb::str>(first) && nb::cast<std::string>(first) == tag;
}

AttrValue read_list(nb::handle list) {
  IntList integers;
  FloatList floats;
  StringList strings;
  for (nb::handle item : list) {
    if (nb::isinstance<nb::bytes>(item)) {
      strings.push_back(read_text(item));
    } else if (PyFloat_Check(item.ptr())) {
      floats.push_back(nb::cast<double>(item));
    } else if (PyLong_Check(item.ptr())) {
      integers.push_back(nb::cast<int64_t>(item));
      floats.push_back(nb::cast<double>(item));
    }
  }
  const size_t size = nb::len(list);
  if (integers.size() == size) return integers;
  if (floats.size() == size) return floats;
  if (strings.size() == size) return strings;
  return {};
}

AttrValue read_attr(nb::handle value) {
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return object == Py_True;
  if (PyLong_Check(object)) return nb::cast<int64_t>(value);
  if (PyFloat_Check(object)) return nb::cast<double>(value);
  if (PyBytes_Check(object) || PyUnicode_Check(object)) return read_text(value);
  if (is_tagged(value, "type")) return read_dtype(value[1]);
  if (is_tagged(value, "shape")) return read_shape(value[1]);
  if (is_tagged(value, "function")) return function_attr(value[1]);
  if (PyList_Check(object) || PyTuple_Check(object)) return read_list(value);
  if (value.is_none()) return {};
  return tensor_from_array(object);
}

NodeDef read_node(nb::handle tuple) {
  NodeDef node;
  node.name = nb::cast<std::string>(tuple[0]);
  node.op = nb::cast<std::string>(tuple[1]);
  for (nb::handle input : tuple[2]) node.inputs.push_back(read_port(input));
  for (nb::handle control : tuple[3]) node.control_inputs.push_back(nb::cast<int>(control));
  for (nb::handle item : tuple[4].attr("items")()) {
    node.attrs.emplace(nb::cast<std::string>(item[0]), read_attr(item[1]));
  }
  for (nb::handle dtype : tuple[5]) node.outputs.push_back(read_dtype(dtype));
  return node;
}

}  // namespace

GraphDef read_graph(nb::sequence nodes, nb::sequence fetches, nb::sequence targets) {
  GraphDef graph;
  for (nb::handle node : nodes) graph.nodes.push_back(read_node(node));
  for (nb::handle fetch : fetches) graph.fetches.push_back(read_port(fetch));
  for (nb::handle target : targets) graph.targets.push_back(nb::cast<int>(target));
  return graph;
}

}  // namespace qanat
