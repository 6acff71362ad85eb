// What an executable is compiled from: nodes in topological order.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_GRAPH_DEF_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_GRAPH_DEF_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "packages/core/native/memory/tensor.h"

namespace qanat {

using IntList = std::vector<int64_t>;
using FloatList = std::vector<double>;
using StringList = std::vector<std::string>;

struct PartialShape {
  std::vector<int64_t> dims;  // -1: unknown
  bool known_rank = true;
};

// std::monostate is a value that no kernel can ask for.
using AttrValue = std::variant<std::monostate, bool, int64_t, double, std::string, DType,
                               PartialShape, Tensor, IntList, FloatList, StringList>;

// One output of one node.
struct Port {
  int node;
  int output;
};

struct NodeDef {
  std::string name;
  std::string op;
  std::vector<Port> inputs;
  std::vector<int> control_inputs;
  std::map<std::string, AttrValue, std::less<>> attrs;
  std::vector<DType> outputs;
  std::vector<DType> input_dtypes;  // found when it is compiled

  // The attr if it is there and a T, else null.
  template <typename T>
  const T* attr(std::string_view attr_name) const {
    auto found = attrs.find(attr_name);
    return found == attrs.end() ? nullptr : std::get_if<T>(&found->second);
  }
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::vector<Port> fetches;
  std::vector<int> targets;  // nodes to be run for their effect
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_GRAPH_DEF_H_
