#include "packages/core/native/executor/frames.h"

#include <algorithm>

#include "packages/core/native/executor/roles.h"

namespace qanat {
namespace {

constexpr int kNone = -1;
constexpr int64_t kMostParallel = 1 << 16;

class Finder {
 public:
  Finder(const GraphDef& graph, Frames* found) : graph_(graph), found_(*found) {
    found_.frames.push_back({});
    found_.inputs.assign(graph.nodes.size(), kNone);
    found_.outputs.assign(graph.nodes.size(), kNone);
  }

  Status visit(int i) {
    const NodeDef& node = graph_.nodes[i];
    const Role role = built_in(node.op).role;
    Status status = check(i, role);
    if (!status.ok()) return status;
    int frame = kNone;
    if (!same_frame(i, &frame)) {
      return invalid(
          "expected all inputs to be of one frame, got some of others: a value comes "
          "into a loop through Enter, and out of it through Exit",
          i);
    }
    if (role != Role::kValue && frame == kNone) frame = 0;
    found_.inputs[i] = found_.outputs[i] = frame;
    if (role == Role::kEnter) return enter(i, frame);
    if (role == Role::kExit || role == Role::kNextIteration) {
      if (frame == 0) return invalid("expected a node of a loop, got one of none", i);
      if (role == Role::kExit) found_.outputs[i] = found_.frames[frame].parent;
    }
    return {};
  }

  // Once all others are known.
  Status check_back_edges(int i) {
    const NodeDef& node = graph_.nodes[i];
    for (const Port& input : node.inputs) {
      if (is_back_edge(graph_, node, input) && found_.outputs[input.node] != found_.inputs[i]) {
        return invalid("expected the values of one loop, got a NextIteration of another", i);
      }
    }
    return {};
  }

 private:
  static Status invalid(const std::string& message, int node) {
    return error(StatusCode::kInvalidArgument, message, node);
  }

  // What the executor relies on.
  Status check(int i, Role role) const {
    const NodeDef& node = graph_.nodes[i];
    const size_t inputs = node.inputs.size(), outputs = node.outputs.size();
    const auto all_like_the_first = [&](size_t values) {
      return std::all_of(node.input_dtypes.begin(),
                         node.input_dtypes.begin() + static_cast<std::ptrdiff_t>(values),
                         [&](DType dtype) { return dtype == node.outputs[0]; });
    };
    switch (role) {
      case Role::kSwitch:
        if (inputs == 2 && outputs == 2 && all_like_the_first(1) &&
            node.outputs[1] == node.outputs[0] && node.input_dtypes[1] == DType::kBool) {
          return {};
        }
        return invalid("expected a value and a bool, and two outputs of the value's type", i);
      case Role::kMerge:
        if (inputs > 0 && outputs == 2 && all_like_the_first(inputs) &&
            node.outputs[1] == DType::kInt32) {
          return check_merge(i);
        }
        return invalid("expected values of one type, and outputs of it and of int32", i);
      case Role::kEnter:
      case Role::kExit:
      case Role::kNextIteration:
        if (inputs == 1 && outputs == 1 && all_like_the_first(1)) return {};
        return invalid("expected one input and one output of the same type", i);
      default:
        return {};
    }
  }

  Status check_merge(int i) const {
    for (const Port& input : graph_.nodes[i].inputs) {
      if (built_in(graph_.nodes[input.node].op).role == Role::kValue) {
        return invalid("expected values that a node computes, got a constant or a fed one", i);
      }
    }
    return {};
  }

  // The one frame of all inputs that have one; false where there are several.
  bool same_frame(int i, int* frame) const {
    const NodeDef& node = graph_.nodes[i];
    const auto add = [&](int other) {
      if (other == kNone) return true;
      if (*frame == kNone) *frame = other;
      return *frame == other;
    };
    for (const Port& input : node.inputs) {
      if (!is_back_edge(graph_, node, input) && !add(found_.outputs[input.node])) return false;
    }
    return std::all_of(node.control_inputs.begin(), node.control_inputs.end(),
                       [&](int control) { return add(found_.outputs[control]); });
  }

  Status enter(int i, int parent) {
    const NodeDef& node = graph_.nodes[i];
    const std::string* name = node.attr<std::string>("frame_name");
    if (name == nullptr) return invalid("expected an attr \"frame_name\"", i);
    const int64_t* parallel = node.attr<int64_t>("parallel_iterations");
    const int64_t wanted = parallel == nullptr ? 10 : *parallel;
    if (wanted < 1) return invalid("expected parallel_iterations of at least 1", i);
    std::vector<FrameDef>& frames = found_.frames;
    const auto known = std::find_if(frames.begin() + 1, frames.end(), [&](const FrameDef& frame) {
      return frame.parent == parent && frame.name == *name;
    });
    found_.outputs[i] = static_cast<int>(known - frames.begin());
    if (known == frames.end()) {
      frames.push_back({*name, parent, static_cast<int>(std::min(wanted, kMostParallel))});
    }
    return {};
  }

  const GraphDef& graph_;
  Frames& found_;
};

}  // namespace

bool is_back_edge(const GraphDef& graph, const NodeDef& node, const Port& input) {
  return built_in(node.op).role == Role::kMerge &&
         built_in(graph.nodes[input.node].op).role == Role::kNextIteration;
}

namespace {

// Whether a node directs tokens, or gives a dead one that another part of the step has sent: then
// the op is _Recv, which knows the branches that have to be taken.
bool controls_flow(const NodeDef& node) {
  const StringList* branches = node.attr<StringList>("branches");
  return built_in(node.op).controls_flow || (branches != nullptr && !branches->empty());
}

}  // namespace

Status find_frames(const GraphDef& graph, const std::vector<bool>& needed, Frames* frames) {
  Finder finder(graph, frames);
  const int size = static_cast<int>(graph.nodes.size());
  for (int i = 0; i < size; ++i) {
    if (!needed[i]) continue;
    frames->has_control_flow = frames->has_control_flow || controls_flow(graph.nodes[i]);
    Status status = finder.visit(i);
    if (!status.ok()) return status;
  }
  for (int i = 0; i < size; ++i) {
    if (!needed[i]) continue;
    Status status = finder.check_back_edges(i);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace qanat
