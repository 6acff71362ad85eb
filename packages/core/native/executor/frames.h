// In which loop the nodes of a graph are.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_FRAMES_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_FRAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "packages/core/native/base/status.h"
#include "packages/core/native/executor/graph_def.h"

namespace qanat {

struct FrameDef {
  std::string name;
  int parent = -1;
  int parallel_iterations = 1;
};

// The frames of a graph: the root, which is the first, and one for each name under each parent that
// an Enter leads to.
struct Frames {
  std::vector<FrameDef> frames;
  // By node: the frame that it takes its inputs from and that its outputs go to; -1 for constants
  // and fed values, which are of every frame, unless something is waited for.
  std::vector<int> inputs, outputs;
  bool has_control_flow = false;
};

// Whether an input of a Merge closes a loop; only then it may come later in the graph.
bool is_back_edge(const GraphDef& graph, const NodeDef& node, const Port& input);

// Of a graph whose indices are right, and of the needed nodes alone. Fails where a node has inputs
// of several frames, or is used as no node of its role can be.
Status find_frames(const GraphDef& graph, const std::vector<bool>& needed, Frames* frames);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_FRAMES_H_
