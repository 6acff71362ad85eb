// The analysis of a graph: all that is known before the first step, as flat arrays.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "packages/core/native/executor/graph_def.h"
#include "packages/core/native/executor/kernel_init.h"
#include "packages/core/native/executor/runtime.h"

namespace qanat {

// The ops that the executor runs itself, beside "_Arg", which stands for a fed value.
inline constexpr const char* kBuiltInOps[] = {"Const", "Identity", "NoOp"};

// How the executor treats a node. Constants and fed values are no nodes of a plan but filled slots.
enum class Role : uint8_t { kKernel, kIdentity, kNoOp, kAsync };

struct NodePlan {
  Kernel* kernel = nullptr;
  Role role = Role::kKernel;
  bool expensive = false;
  bool drops_outputs = false;                       // some output is used by nobody
  int32_t index = 0;                                // in the graph
  int32_t first_input = 0, num_inputs = 0;          // in Plan::inputs
  int32_t first_slot = 0, num_outputs = 0;          // in Plan::slots
  int32_t first_successor = 0, num_successors = 0;  // in Plan::successors
  int32_t dependencies = 0;                         // nodes it waits for
  int32_t rank = 0;  // of an expensive or asynchronous node: how many of its kind come before it
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
};

struct FetchPlan {
  int32_t slot = 0;
  bool again = false;  // a later fetch takes the same value
};

struct Plan {
  std::vector<NodePlan> nodes;  // in the order given, which is the order of construction
  std::vector<InputPlan> inputs;
  std::vector<SlotPlan> slots;
  std::vector<int32_t> successors;
  std::vector<Tensor> constants;  // the values of the first slots
  std::vector<int32_t> args;      // slots, by index; -1 where the plan does not need it
  std::vector<DType> arg_dtypes;  // kInvalid where the plan does not need it
  std::vector<FetchPlan> fetches;
  int32_t num_expensive = 0;
  int32_t num_async = 0;
  bool concurrent = false;  // some two expensive nodes may run at the same time
  std::vector<std::shared_ptr<BuiltKernel>> kernels;
};

// Keeps what the fetches and targets need. Checks the graph: its indices, its order, that kernels
// exist.
Status make_plan(GraphDef graph, Runtime* runtime, Plan* plan);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_PLAN_H_
