// The analysis of a graph: all that is known before the first step, as flat arrays.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "packages/core/native/executor/graph_def.h"
#include "packages/core/native/executor/kernel_init.h"
#include "packages/core/native/executor/roles.h"
#include "packages/core/native/executor/runtime.h"

namespace qanat {

// Slots and edges are counted within the frame that they belong to; of an Enter, Exit and
// NextIteration the inputs are of one frame or iteration and the outputs of another.
struct NodePlan {
  Kernel* kernel = nullptr;
  Role role = Role::kKernel;
  bool expensive = false;
  bool drops_outputs = false;                       // some output is used by nobody
  bool constant = false;                            // of an Enter: for all iterations
  bool target = false;                              // to be run for its effect
  bool runs_dead = false;                           // also where its inputs are dead
  int32_t index = 0;                                // in the graph
  int32_t first_input = 0, num_inputs = 0;          // in Plan::inputs
  int32_t first_slot = 0, num_outputs = 0;          // in Plan::slots
  int32_t first_successor = 0, num_successors = 0;  // in Plan::successors, or in Plan::tokens
  int32_t dependencies = 0;                         // nodes it waits for
  int32_t rank = 0;   // of an expensive or asynchronous node: how many of its kind come before it
  int32_t place = 0;  // among the nodes of its frame
  int32_t exit = 0;   // of an Exit: how many of its frame come before it
  int32_t entered = -1;  // of an Enter: the frame it leads to
};

// An edge, as the consumer sees it.
struct InputPlan {
  int32_t slot = 0;
  bool sole = false;     // the only edge from this slot to this node
  bool last = false;     // in the order of the plan nobody needs the value after this edge
  bool only = false;     // nobody else ever needs it
  bool counted = false;  // several do, and nobody outlives them: uses are counted down
};

// A slot is where a step keeps one output of one node.
struct SlotPlan {
  DType dtype = DType::kInvalid;
  int32_t uses = 0;  // edges from it
  bool fetched = false;
  bool constant = false;  // filled for good
};

struct FetchPlan {
  int32_t slot = 0;
  bool again = false;  // a later fetch takes the same value
  int32_t node = 0;    // in the graph
};

// Where a node with control flow sends what: an edge to a node of the same frame, or of the one
// that it leads to.
struct TokenPlan {
  int32_t node = 0;
  int32_t output = -1;  // -1: a control edge
  int32_t input = -1;   // of the receiver
};

// What a node still waits for in one iteration. A Merge waits for all control edges and for either
// a live value or only dead ones; all others wait for everything, and are dead if anything is.
struct Waiting {
  int32_t tokens = 0;  // of a Merge: control edges
  int32_t values = 0;  // of a Merge: values
  int32_t live = -1;   // of a Merge: the input that the first live value came by
  bool dead = false;
  bool ready = false;  // it has fired
};

struct ConstantPlan {
  int32_t slot = 0;      // of the frame
  int32_t constant = 0;  // in Plan::constants
};

// A part of a graph that is run once, or again and again: the root, which holds all that is in no
// loop, or a loop's cond and body.
struct FramePlan {
  std::string name;
  int32_t parent = -1;
  int32_t parallel_iterations = 1;
  int32_t first_input = 0, num_inputs = 0;  // in Plan::inputs
  int32_t first_slot = 0, num_slots = 0;    // in Plan::slots
  int32_t num_enters = 0, num_exits = 0;
  std::vector<int32_t> exits;           // in Plan::nodes
  std::vector<Waiting> first, later;    // by place: in the first iteration, and in all others
  std::vector<ConstantPlan> constants;  // not of the root, whose first slots they are
};

struct Plan {
  std::vector<NodePlan> nodes;  // in the order given, which is the order of construction
  std::vector<InputPlan> inputs;
  std::vector<SlotPlan> slots;
  std::vector<FramePlan> frames;  // the root is the first
  std::vector<int32_t> successors;
  std::vector<TokenPlan> tokens;  // in place of successors where there is control flow
  std::vector<Tensor> constants;  // the values of the first slots
  std::vector<int32_t> args;      // slots, by index; -1 where the plan does not need it
  std::vector<DType> arg_dtypes;  // kInvalid where the plan does not need it
  std::vector<FetchPlan> fetches;
  std::vector<int32_t> targets;  // nodes to be run for their effect
  int32_t num_expensive = 0;
  int32_t num_async = 0;
  bool concurrent = false;        // some two expensive nodes may run at the same time
  bool has_control_flow = false;  // values may be dead, nodes may run more than once
  std::vector<std::shared_ptr<BuiltKernel>> kernels;
};

// Keeps what the fetches and targets need. Checks the graph: its indices, its order, its frames,
// that kernels exist.
Status make_plan(GraphDef graph, Runtime* runtime, Plan* plan);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_
