#include "packages/core/native/executor/plan.h"

#include <algorithm>
#include <string>

#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/kernel_registry.h"

namespace qanat {
namespace {

constexpr int64_t kMaxArgs = 1 << 20;

class Planner {
 public:
  Planner(GraphDef graph, Runtime* runtime, Plan* plan)
      : graph_(std::move(graph)),
        runtime_(runtime),
        plan_(plan),
        needed_(graph_.nodes.size(), false),
        first_slot_(graph_.nodes.size(), -1),
        planned_(graph_.nodes.size(), -1) {}

  Status run() {
    Status status = check();
    if (!status.ok()) return status;
    prune();
    for (auto phase : {&Planner::add_constants, &Planner::add_args, &Planner::add_nodes}) {
      for (int i = 0; i < size(); ++i) {
        if (needed_[i]) status = (this->*phase)(i);
        if (!status.ok()) {
          status.node = i;
          return status;
        }
      }
    }
    add_fetches();
    mark_uses();
    add_successors();
    find_concurrency();
    return {};
  }

 private:
  int size() const { return static_cast<int>(graph_.nodes.size()); }
  int32_t slot(const Port& port) const { return first_slot_[port.node] + port.output; }

  static Status invalid(const std::string& message, int node) {
    return error(StatusCode::kInvalidArgument, message, node);
  }

  bool exists(const Port& port, int before) const {
    return port.node >= 0 && port.node < before && port.output >= 0 &&
           port.output < static_cast<int>(graph_.nodes[port.node].outputs.size());
  }

  Status check() {
    for (int i = 0; i < size(); ++i) {
      NodeDef& node = graph_.nodes[i];
      for (const Port& input : node.inputs) {
        if (!exists(input, i)) return invalid("expected inputs that come earlier in the plan", i);
        node.input_dtypes.push_back(graph_.nodes[input.node].outputs[input.output]);
      }
      for (int control : node.control_inputs) {
        if (control < 0 || control >= i) {
          return invalid("expected control inputs that come earlier in the plan", i);
        }
      }
      for (DType dtype : node.outputs) {
        if (dtype_size(dtype) == 0) return invalid("expected outputs of known types", i);
      }
    }
    for (const Port& fetch : graph_.fetches) {
      if (!exists(fetch, size())) return invalid("expected fetches of the plan's own outputs", -1);
    }
    for (int target : graph_.targets) {
      if (target < 0 || target >= size()) return invalid("expected targets in the plan", -1);
    }
    return {};
  }

  void prune() {
    for (const Port& fetch : graph_.fetches) needed_[fetch.node] = true;
    for (int target : graph_.targets) needed_[target] = true;
    for (int i = size() - 1; i >= 0; --i) {
      if (!needed_[i]) continue;
      for (const Port& input : graph_.nodes[i].inputs) needed_[input.node] = true;
      for (int control : graph_.nodes[i].control_inputs) needed_[control] = true;
    }
  }

  void add_slots(int i) {
    first_slot_[i] = static_cast<int32_t>(plan_->slots.size());
    for (DType dtype : graph_.nodes[i].outputs) plan_->slots.push_back({dtype, 0, false});
  }

  static bool is_value(const NodeDef& node) { return node.op == "Const" || node.op == "_Arg"; }

  Status add_constants(int i) {
    const NodeDef& node = graph_.nodes[i];
    if (node.op != "Const") return {};
    const Tensor* value = node.attr<Tensor>("value");
    if (value == nullptr || node.outputs.size() != 1 || value->view.dtype != node.outputs[0]) {
      return invalid("expected an attr \"value\" of the output's type", i);
    }
    add_slots(i);
    plan_->constants.push_back(*value);
    return {};
  }

  Status add_args(int i) {
    const NodeDef& node = graph_.nodes[i];
    if (node.op != "_Arg") return {};
    const int64_t* index = node.attr<int64_t>("index");
    if (index == nullptr || *index < 0 || *index >= kMaxArgs || node.outputs.size() != 1) {
      return invalid("expected an attr \"index\" and one output", i);
    }
    add_slots(i);
    const size_t count = std::max(plan_->args.size(), static_cast<size_t>(*index) + 1);
    plan_->args.resize(count, -1);
    plan_->arg_dtypes.resize(count, DType::kInvalid);
    if (plan_->args[*index] >= 0) return invalid("expected one node for each fed value", i);
    plan_->args[*index] = first_slot_[i];
    plan_->arg_dtypes[*index] = node.outputs[0];
    return {};
  }

  Status add_nodes(int i) {
    const NodeDef& node = graph_.nodes[i];
    if (is_value(node)) return {};
    NodePlan planned;
    planned.index = i;
    planned.first_input = static_cast<int32_t>(plan_->inputs.size());
    planned.num_inputs = static_cast<int32_t>(node.inputs.size());
    for (const Port& input : node.inputs) {
      InputPlan edge;
      edge.slot = slot(input);
      ++plan_->slots[edge.slot].uses;
      plan_->inputs.push_back(edge);
    }
    add_slots(i);
    planned.first_slot = first_slot_[i];
    planned.num_outputs = static_cast<int32_t>(node.outputs.size());
    Status status = choose_role(node, &planned);
    planned_[i] = static_cast<int32_t>(plan_->nodes.size());
    plan_->nodes.push_back(planned);
    return status;
  }

  Status choose_role(const NodeDef& node, NodePlan* planned) {
    if (node.op == "NoOp") {
      planned->role = Role::kNoOp;
      return {};
    }
    if (node.op == "Identity") {
      planned->role = Role::kIdentity;
      if (node.input_dtypes.size() == 1 && node.input_dtypes == node.outputs) return {};
      return invalid("expected one input and one output of the same type", planned->index);
    }
    const KernelDef* def = nullptr;
    Status status = LoadedKernels::process().find(node, &def);
    if (!status.ok()) return status;
    std::shared_ptr<BuiltKernel> built;
    status = runtime_->kernel(*def, node, &built);
    if (!status.ok()) return status;
    planned->kernel = built->kernel();
    if ((def->flags & kAsync) != 0) {
      planned->role = Role::kAsync;
      planned->rank = plan_->num_async++;
    } else if ((def->flags & kExpensive) != 0) {
      planned->expensive = true;
      planned->rank = plan_->num_expensive++;
    }
    plan_->kernels.push_back(std::move(built));
    return {};
  }

  void add_fetches() {
    for (const Port& fetch : graph_.fetches) plan_->fetches.push_back({slot(fetch), false});
    for (auto fetch = plan_->fetches.rbegin(); fetch != plan_->fetches.rend(); ++fetch) {
      bool& fetched = plan_->slots[fetch->slot].fetched;
      fetch->again = fetched;
      fetched = true;
    }
  }

  // Backwards, so that the first edge met is the last use of its slot.
  void mark_uses() {
    const auto constants = static_cast<int32_t>(plan_->constants.size());
    std::vector<bool> used(plan_->slots.size(), false);
    std::vector<int32_t> in_node(plan_->slots.size(), 0);
    for (auto node = plan_->nodes.rbegin(); node != plan_->nodes.rend(); ++node) {
      InputPlan* edges = plan_->inputs.data() + node->first_input;
      for (int32_t i = 0; i < node->num_inputs; ++i) ++in_node[edges[i].slot];
      for (int32_t i = 0; i < node->num_inputs; ++i) {
        InputPlan& edge = edges[i];
        edge.sole = in_node[edge.slot] == 1;
        const SlotPlan& slot = plan_->slots[edge.slot];
        if (edge.slot < constants || slot.fetched) continue;
        edge.last = !used[edge.slot];
        edge.only = slot.uses == 1;
        edge.counted = !edge.only;
        used[edge.slot] = true;
      }
      for (int32_t i = 0; i < node->num_inputs; ++i) in_node[edges[i].slot] = 0;
      for (int32_t i = 0; i < node->num_outputs; ++i) {
        const SlotPlan& slot = plan_->slots[node->first_slot + i];
        if (slot.uses == 0 && !slot.fetched) node->drops_outputs = true;
      }
    }
  }

  // What a node waits for: planned nodes and, behind values that have none, what those wait for.
  void collect_dependencies(int i, std::vector<int32_t>* all) const {
    const auto add = [&](int node) {
      if (planned_[node] >= 0) {
        all->push_back(planned_[node]);
      } else {
        collect_dependencies(node, all);
      }
    };
    for (const Port& input : graph_.nodes[i].inputs) add(input.node);
    for (int control : graph_.nodes[i].control_inputs) add(control);
  }

  std::vector<int32_t> dependencies(const NodePlan& node) const {
    std::vector<int32_t> all;
    collect_dependencies(node.index, &all);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  void add_successors() {
    std::vector<std::vector<int32_t>> successors(plan_->nodes.size());
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      const std::vector<int32_t> needs = dependencies(plan_->nodes[i]);
      plan_->nodes[i].dependencies = static_cast<int32_t>(needs.size());
      for (int32_t need : needs) successors[need].push_back(static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      plan_->nodes[i].first_successor = static_cast<int32_t>(plan_->successors.size());
      plan_->nodes[i].num_successors = static_cast<int32_t>(successors[i].size());
      plan_->successors.insert(plan_->successors.end(), successors[i].begin(), successors[i].end());
    }
  }

  // If one path visits all expensive nodes, no two of them can ever meet.
  void find_concurrency() {
    std::vector<int32_t> before(plan_->nodes.size(), 0);
    int32_t longest = 0;
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      const NodePlan& node = plan_->nodes[i];
      const int32_t here = before[i] + (node.expensive ? 1 : 0);
      longest = std::max(longest, here);
      for (int32_t s = 0; s < node.num_successors; ++s) {
        int32_t& of_successor = before[plan_->successors[node.first_successor + s]];
        of_successor = std::max(of_successor, here);
      }
    }
    plan_->concurrent = longest < plan_->num_expensive;
  }

  GraphDef graph_;
  Runtime* const runtime_;
  Plan* const plan_;
  std::vector<bool> needed_;
  std::vector<int32_t> first_slot_;  // by node of the graph
  std::vector<int32_t> planned_;     // its place in the plan, -1: none
};

}  // namespace

Status make_plan(GraphDef graph, Runtime* runtime, Plan* plan) {
  return Planner(std::move(graph), runtime, plan).run();
}

}  // namespace qanat
