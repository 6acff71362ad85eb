#include "packages/core/native/executor/plan.h"

#include <algorithm>
#include <map>
#include <string>

#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/executor/frames.h"
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
    status = find_frames(graph_, needed_, &frames_);
    if (!status.ok()) return status;
    plan_->has_control_flow = frames_.has_control_flow;
    slots_.resize(frames_.frames.size());
    inputs_.resize(frames_.frames.size());
    constants_.resize(frames_.frames.size());
    for (auto phase : {&Planner::add_constants, &Planner::add_args, &Planner::add_nodes}) {
      for (int i = 0; i < size(); ++i) {
        if (needed_[i]) status = (this->*phase)(i);
        if (!status.ok()) {
          status.node = i;
          return status;
        }
      }
    }
    status = add_frames();
    if (!status.ok()) return status;
    mark_uses();
    if (plan_->has_control_flow) {
      add_tokens();
      plan_->concurrent = plan_->num_expensive > 0;
    } else {
      add_successors();
      find_concurrency();
    }
    return {};
  }

 private:
  int size() const { return static_cast<int>(graph_.nodes.size()); }
  bool is_constant(int node) const { return graph_.nodes[node].op == "Const"; }

  // The slot that a node of that frame finds a value in.
  int32_t slot(const Port& port, int frame) {
    const int32_t own = first_slot_[port.node] + port.output;
    if (frame == 0 || !is_constant(port.node)) return own;
    std::map<int32_t, int32_t>& copies = constants_[frame];
    const auto [place, added] = copies.try_emplace(own, static_cast<int32_t>(slots_[frame].size()));
    if (added) slots_[frame].push_back({slots_[0][own].dtype, 0, false, true});
    return place->second;
  }

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
        if (!exists(input, size()) || (input.node >= i && !is_back_edge(graph_, node, input))) {
          return invalid("expected inputs that come earlier in the plan", i);
        }
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
    // Back edges lead to nodes that were passed already: again, until nothing is new.
    for (bool more = true; more;) {
      more = false;
      for (int i = size() - 1; i >= 0; --i) {
        if (!needed_[i]) continue;
        for (const Port& input : graph_.nodes[i].inputs) {
          more = more || (input.node > i && !needed_[input.node]);
          needed_[input.node] = true;
        }
        for (int control : graph_.nodes[i].control_inputs) needed_[control] = true;
      }
    }
  }

  void add_slots(int i) {
    const int frame = is_value(graph_.nodes[i]) ? 0 : frames_.outputs[i];
    first_slot_[i] = static_cast<int32_t>(slots_[frame].size());
    for (DType dtype : graph_.nodes[i].outputs) {
      slots_[frame].push_back({dtype, 0, false, is_constant(i)});
    }
  }

  static bool is_value(const NodeDef& node) { return built_in(node.op).role == Role::kValue; }

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
    if (node.op != kArgOp) return {};
    if (frames_.outputs[i] > 0) return invalid("expected fed values outside of loops", i);
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
    const int frame = frames_.inputs[i];
    planned.index = i;
    planned.first_input = static_cast<int32_t>(inputs_[frame].size());
    planned.num_inputs = static_cast<int32_t>(node.inputs.size());
    for (const Port& input : node.inputs) {
      if (graph_.nodes[input.node].op == kArgOp && frame > 0) {
        return invalid("expected fed values outside of loops", i);
      }
    }
    inputs_[frame].resize(inputs_[frame].size() + node.inputs.size());
    add_slots(i);
    planned.first_slot = first_slot_[i];
    planned.num_outputs = static_cast<int32_t>(node.outputs.size());
    Status status = choose_role(node, &planned);
    planned_[i] = static_cast<int32_t>(plan_->nodes.size());
    plan_->nodes.push_back(planned);
    return status;
  }

  Status choose_role(const NodeDef& node, NodePlan* planned) {
    planned->role = built_in(node.op).role;
    if (planned->role == Role::kEnter) {
      const bool* constant = node.attr<bool>("is_constant");
      planned->constant = constant != nullptr && *constant;
      planned->entered = frames_.outputs[planned->index];
    }
    if (planned->role == Role::kIdentity && node.input_dtypes != node.outputs) {
      return invalid("expected one input and one output of the same type", planned->index);
    }
    if (planned->role != Role::kKernel) return {};
    const KernelDef* def = nullptr;
    Status status = LoadedKernels::process().find(node, &def);
    if (!status.ok()) return status;
    std::shared_ptr<BuiltKernel> built;
    status = runtime_->kernel(*def, node, &built);
    if (!status.ok()) return status;
    planned->kernel = built->kernel();
    planned->runs_dead = (def->flags & kRunsDead) != 0;
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

  // Edges, once all slots are known (a back edge is read before it is written), and then all frames
  // one after the other.
  Status add_frames() {
    for (const NodePlan& node : plan_->nodes) {
      const int frame = frames_.inputs[node.index];
      for (int32_t i = 0; i < node.num_inputs; ++i) {
        InputPlan& edge = inputs_[frame][node.first_input + i];
        edge.slot = slot(graph_.nodes[node.index].inputs[i], frame);
        ++slots_[frame][edge.slot].uses;
      }
    }
    Status status = add_fetches();
    if (!status.ok()) return status;
    for (size_t f = 0; f < frames_.frames.size(); ++f) {
      FramePlan& frame = plan_->frames.emplace_back();
      frame.name = frames_.frames[f].name;
      frame.parent = frames_.frames[f].parent;
      frame.parallel_iterations = frames_.frames[f].parallel_iterations;
      frame.first_input = static_cast<int32_t>(plan_->inputs.size());
      frame.num_inputs = static_cast<int32_t>(inputs_[f].size());
      frame.first_slot = static_cast<int32_t>(plan_->slots.size());
      frame.num_slots = static_cast<int32_t>(slots_[f].size());
      for (const auto& [constant, copy] : constants_[f]) {
        frame.constants.push_back({copy, constant});
      }
      plan_->inputs.insert(plan_->inputs.end(), inputs_[f].begin(), inputs_[f].end());
      plan_->slots.insert(plan_->slots.end(), slots_[f].begin(), slots_[f].end());
    }
    return {};
  }

  Status add_fetches() {
    for (const Port& fetch : graph_.fetches) {
      if (frames_.outputs[fetch.node] > 0) {
        return invalid("expected fetches outside of loops, got one of loop \"" +
                           frames_.frames[frames_.outputs[fetch.node]].name + "\"",
                       fetch.node);
      }
      plan_->fetches.push_back({slot(fetch, 0), false, fetch.node});
    }
    for (auto fetch = plan_->fetches.rbegin(); fetch != plan_->fetches.rend(); ++fetch) {
      bool& fetched = slots_[0][fetch->slot].fetched;
      fetch->again = fetched;
      fetched = true;
    }
    for (int target : graph_.targets) {
      if (planned_[target] < 0) continue;
      // What sends tokens on runs as often as they come.
      if (plan_->nodes[planned_[target]].runs_dead) continue;
      if (frames_.inputs[target] > 0) {
        return invalid("expected targets outside of loops, got one of loop \"" +
                           frames_.frames[frames_.inputs[target]].name + "\"",
                       target);
      }
      plan_->nodes[planned_[target]].target = true;
      plan_->targets.push_back(planned_[target]);
    }
    return {};
  }

  // Backwards, so that the first edge met is the last use of its slot.
  void mark_uses() {
    std::vector<bool> used(plan_->slots.size(), false);
    std::vector<int32_t> in_node(plan_->slots.size(), 0);
    for (auto node = plan_->nodes.rbegin(); node != plan_->nodes.rend(); ++node) {
      const FramePlan& from = plan_->frames[frames_.inputs[node->index]];
      InputPlan* edges = plan_->inputs.data() + from.first_input + node->first_input;
      for (int32_t i = 0; i < node->num_inputs; ++i) ++in_node[from.first_slot + edges[i].slot];
      for (int32_t i = 0; i < node->num_inputs; ++i) {
        InputPlan& edge = edges[i];
        const int32_t at = from.first_slot + edge.slot;
        edge.sole = in_node[at] == 1;
        const SlotPlan& slot = plan_->slots[at];
        if (slot.constant || slot.fetched) continue;
        edge.last = !used[at];
        edge.only = slot.uses == 1;
        edge.counted = !edge.only;
        used[at] = true;
      }
      for (int32_t i = 0; i < node->num_inputs; ++i) in_node[from.first_slot + edges[i].slot] = 0;
      const FramePlan& to = plan_->frames[frames_.outputs[node->index]];
      for (int32_t i = 0; i < node->num_outputs; ++i) {
        const SlotPlan& slot = plan_->slots[to.first_slot + node->first_slot + i];
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

  // The tokens that a node waits for: its values and, by control edges, other nodes; behind values
  // that are no nodes, what those wait for. Each once, but a Merge gets each of its values.
  void collect_tokens(int i, int32_t receiver, bool values_count,
                      std::vector<std::pair<int32_t, TokenPlan>>* all) const {
    const auto add = [&](int node, TokenPlan token) {
      if (planned_[node] < 0) {
        collect_tokens(node, receiver, false, all);
      } else {
        all->push_back({planned_[node], token});
      }
    };
    const NodeDef& node = graph_.nodes[i];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      const Port& input = node.inputs[k];
      add(input.node, {receiver, values_count ? input.output : -1, static_cast<int32_t>(k)});
    }
    for (int control : node.control_inputs) add(control, {receiver, -1, -1});
  }

  void add_tokens() {
    std::vector<std::vector<TokenPlan>> sent(plan_->nodes.size());
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      NodePlan& node = plan_->nodes[i];
      std::vector<std::pair<int32_t, TokenPlan>> needs;
      collect_tokens(node.index, static_cast<int32_t>(i), true, &needs);
      if (node.role != Role::kMerge) {
        for (auto& [sender, token] : needs) token.input = -1;
        const auto key = [](const auto& need) { return std::pair(need.first, need.second.output); };
        std::sort(needs.begin(), needs.end(),
                  [&](const auto& a, const auto& b) { return key(a) < key(b); });
        needs.erase(std::unique(needs.begin(), needs.end(),
                                [&](const auto& a, const auto& b) { return key(a) == key(b); }),
                    needs.end());
      }
      add_waiting(&node, static_cast<int32_t>(i), needs);
      for (const auto& [sender, token] : needs) sent[sender].push_back(token);
    }
    for (size_t i = 0; i < plan_->nodes.size(); ++i) {
      plan_->nodes[i].first_successor = static_cast<int32_t>(plan_->tokens.size());
      plan_->nodes[i].num_successors = static_cast<int32_t>(sent[i].size());
      plan_->tokens.insert(plan_->tokens.end(), sent[i].begin(), sent[i].end());
    }
  }

  // Gives the node its place in its frame, and says what it waits for there.
  void add_waiting(NodePlan* node, int32_t number,
                   const std::vector<std::pair<int32_t, TokenPlan>>& needs) {
    FramePlan& frame = plan_->frames[frames_.inputs[node->index]];
    Waiting first, later;
    for (const auto& [sender, token] : needs) {
      const NodePlan& from = plan_->nodes[sender];
      if (node->role == Role::kMerge && token.output >= 0) {
        first.values += from.role != Role::kNextIteration;
        later.values += from.role != Role::kEnter || from.constant;
      } else {
        ++first.tokens;
        ++later.tokens;
      }
    }
    node->dependencies = first.tokens + first.values;
    node->place = static_cast<int32_t>(frame.first.size());
    frame.first.push_back(first);
    frame.later.push_back(later);
    if (node->role == Role::kExit) {
      node->exit = frame.num_exits++;
      frame.exits.push_back(number);
    }
    if (node->role == Role::kEnter) ++plan_->frames[node->entered].num_enters;
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
  Frames frames_;
  // By frame, while the plan is made: slots, edges, and copies of constants by their own slot.
  std::vector<std::vector<SlotPlan>> slots_;
  std::vector<std::vector<InputPlan>> inputs_;
  std::vector<std::map<int32_t, int32_t>> constants_;
};

}  // namespace

Status make_plan(GraphDef graph, Runtime* runtime, Plan* plan) {
  return Planner(std::move(graph), runtime, plan).run();
}

}  // namespace qanat
