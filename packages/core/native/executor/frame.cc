#include "packages/core/native/executor/frame.h"

namespace qanat {

Iteration::Iteration(const Plan& plan, const FramePlan& frame, const Workplace* root)
    : plan_(frame), planned_slots_(plan.slots.data() + frame.first_slot) {
  uses_ = std::make_unique<std::atomic<int32_t>[]>(static_cast<size_t>(frame.num_slots));
  if (root != nullptr) {
    workplace = *root;
  } else {
    slots_.resize(static_cast<size_t>(frame.num_slots));
    workplace.edges = plan.inputs.data() + frame.first_input;
    for (int32_t i = 0; i < frame.num_inputs; ++i) {
      views_.push_back(&slots_[workplace.edges[i].slot].view);
    }
    for (const ConstantPlan& constant : frame.constants) {
      slots_[constant.slot] = plan.constants[constant.constant];
    }
    workplace.slots = slots_.data();
    workplace.views = views_.data();
    workplace.planned_slots = planned_slots_;
    workplace.iteration = this;
  }
  workplace.uses = uses_.get();
}

void Iteration::begin(Frame* of, int64_t its_number, int64_t its_age) {
  frame = of;
  number = its_number;
  age = its_age;
  busy = 0;
  waiting = its_number == 0 ? plan_.first : plan_.later;
  for (int32_t i = 0; i < plan_.num_slots; ++i) {
    uses_[i].store(planned_slots_[i].uses, std::memory_order_relaxed);
  }
}

void Iteration::end(Allocator::Cache* cache) {
  inside.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!planned_slots_[i].constant) slots_[i].reset(cache);
  }
}

std::string tag(const Iteration& iteration) {
  const Frame& frame = *iteration.frame;
  if (frame.parent == nullptr) return {};
  const std::string outer = tag(*frame.parent);
  return outer + (outer.empty() ? "" : "/") + frame.plan->name + ":" +
         std::to_string(iteration.number);
}

}  // namespace qanat
