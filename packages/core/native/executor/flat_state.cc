#include "packages/core/native/executor/flat_state.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "packages/core/native/executor/step.h"

namespace qanat {

FlatState::FlatState(Step* step)
    : step_(*step),
      pool_(step->runtime_.pool()),
      offer_(
          &pool_, [](void* self, int64_t) { static_cast<FlatState*>(self)->help(); }, this),
      words_((step->plan_.num_expensive + 63) / 64),
      async_(step, this) {
  const Plan& plan = step_.plan_;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].expensive) by_rank_.push_back(static_cast<int32_t>(i));
    if (plan.nodes[i].role == Role::kAsync) runs_.push_back(async_.take());
  }
  dependencies_ = std::make_unique<std::atomic<int32_t>[]>(plan.nodes.size());
  uses_ = std::make_unique<std::atomic<int32_t>[]>(plan.slots.size());
  expensive_ = std::make_unique<std::atomic<uint64_t>[]>(words_);
  main_.ready.reserve(plan.nodes.size());
  for (int i = 1; i < pool_.threads(); ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->own_context = std::make_unique<StepContext>(step, false);
    workers_.back()->context = workers_.back()->own_context.get();
    workers_.back()->ready.reserve(plan.nodes.size());
    idle_.push_back(workers_.back().get());
  }
}

void FlatState::run(StepContext* context) {
  reset(context);
  offer_.open();
  int expensive = 0;
  const auto nodes = static_cast<int32_t>(step_.plan_.nodes.size());
  for (int32_t i = 0; i < nodes; ++i) {
    if (step_.plan_.nodes[i].dependencies == 0) make_ready(i, &main_.ready, &expensive);
  }
  if (expensive > 1) offer_.add(expensive - 1);
  async_.progressed();
  while (true) {
    if (work(&main_)) async_.progressed();
    if (finished()) break;
    const uint32_t seen = pool_.events();
    if (finished()) break;
    if (num_arrived_.load() > 0) {
      offer_arrived();
      continue;
    }
    if (num_expensive_.load() > 0 || pool_.help()) continue;
    pool_.wait(seen, kPollInterval);
    if (!context->poll()) break;
    if (async_.too_long()) AsyncRuns::tell(awaited());
  }
  offer_.close();
  async_.cancel_all();
}

void FlatState::reset(StepContext* context) {
  const Plan& plan = step_.plan_;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    dependencies_[i].store(plan.nodes[i].dependencies, std::memory_order_relaxed);
  }
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    uses_[i].store(plan.slots[i].uses, std::memory_order_relaxed);
  }
  for (int32_t i = 0; i < words_; ++i) expensive_[i].store(0, std::memory_order_relaxed);
  num_expensive_.store(0, std::memory_order_relaxed);
  remaining_.store(static_cast<int32_t>(plan.nodes.size()), std::memory_order_relaxed);
  main_.context = context;
  main_.ready.clear();
  num_arrived_.store(0, std::memory_order_relaxed);
  arrived_.clear();
}

bool FlatState::finished() const { return step_.stopped() || remaining_.load() == 0; }

// A worker of the pool joins in until there is nothing to do for it.
void FlatState::help() {
  Worker* worker = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return;
    worker = idle_.back();
    idle_.pop_back();
  }
  worker->ready.clear();
  worker->context->enter(step_.workplace_);
  work(worker);
  worker->context->leave();
  std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(worker);
}

// False where there was nothing to do.
bool FlatState::work(Worker* worker) {
  int32_t done = 0;
  while (!step_.stopped()) {
    const int32_t i = next(worker);
    if (i < 0) break;
    const NodePlan& node = step_.plan_.nodes[i];
    if (node.role == Role::kAsync) {
      start(node);
      continue;
    }
    if (!worker->context->execute(node)) break;
    complete(node, worker);
    ++done;
  }
  const bool last = done > 0 && remaining_.fetch_sub(done) == done;
  if (last || step_.stopped()) pool_.wake_all();
  return done > 0;
}

int32_t FlatState::next(Worker* worker) {
  std::vector<int32_t>& ready = worker->ready;
  if (num_arrived_.load(std::memory_order_acquire) > 0) take_arrived(worker);
  const int32_t cheap = ready.empty() ? INT32_MAX : ready.front();
  if (num_expensive_.load(std::memory_order_acquire) > 0) {
    const int32_t expensive = take_expensive(cheap);
    if (expensive >= 0) return expensive;
  }
  if (ready.empty()) return -1;
  std::pop_heap(ready.begin(), ready.end(), std::greater<>());
  ready.pop_back();
  return cheap;
}

// The first ready expensive node if it stands before that node of the plan, else -1.
int32_t FlatState::take_expensive(int32_t before) {
  for (int32_t word = 0; word < words_; ++word) {
    uint64_t bits = expensive_[word].load(std::memory_order_acquire);
    while (bits != 0) {
      const uint64_t first = bits & -bits;
      const int32_t node = by_rank_[word * 64 + std::countr_zero(bits)];
      if (node > before) return -1;
      if ((expensive_[word].fetch_and(~first, std::memory_order_acq_rel) & first) != 0) {
        num_expensive_.fetch_sub(1);
        return node;
      }
      bits &= ~first;
    }
  }
  return -1;
}

void FlatState::make_ready(int32_t node, std::vector<int32_t>* ready, int* expensive) {
  const NodePlan& planned = step_.plan_.nodes[node];
  if (planned.expensive) {
    num_expensive_.fetch_add(1);
    expensive_[planned.rank / 64].fetch_or(uint64_t{1} << (planned.rank % 64),
                                           std::memory_order_release);
    ++*expensive;
  } else {
    ready->push_back(node);
    std::push_heap(ready->begin(), ready->end(), std::greater<>());
  }
}

// Returns how many expensive nodes became ready.
int FlatState::release_successors(const NodePlan& node, std::vector<int32_t>* ready) {
  const int32_t* successors = step_.plan_.successors.data() + node.first_successor;
  int expensive = 0;
  for (int32_t i = 0; i < node.num_successors; ++i) {
    const int32_t successor = successors[i];
    if (step_.plan_.nodes[successor].dependencies == 1 ||
        dependencies_[successor].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      make_ready(successor, ready, &expensive);
    }
  }
  return expensive;
}

// Of what became ready this thread takes one itself; others are offered the rest.
void FlatState::complete(const NodePlan& node, Worker* worker) {
  const int expensive = release_successors(node, &worker->ready);
  const int others = worker->ready.empty() ? expensive - 1 : expensive;
  if (others > 0) offer_.add(others);
}

// --- asynchronous nodes ---

void FlatState::start(const NodePlan& node) {
  async_.begun();
  runs_[node.rank]->start(node, step_.workplace_, nullptr);
}

// Only the caller holds the offer: what became ready here is left for it, or for whoever runs nodes
// of the step already.
void FlatState::finish(AsyncRun* run) {
  if (run->dead()) {
    run->context().fail(StatusCode::kInvalidArgument,
                        "expected a value, got that of a branch that was not taken");
  }
  bool wake = step_.stopped();
  if (!wake) {
    run->context().end_async(run->node());
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const auto before = static_cast<int32_t>(arrived_.size());
      const int expensive = release_successors(run->node(), &arrived_);
      const int arrived = static_cast<int32_t>(arrived_.size()) - before + expensive;
      num_arrived_.fetch_add(arrived);
      wake = arrived > 0;
    }
    if (remaining_.fetch_sub(1) == 1) wake = true;
  }
  if (wake) pool_.wake_all();
  async_.ended();  // the last touch
}

void FlatState::take_arrived(Worker* worker) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (int32_t node : arrived_) {
    worker->ready.push_back(node);
    std::push_heap(worker->ready.begin(), worker->ready.end(), std::greater<>());
  }
  arrived_.clear();
  num_arrived_.store(0);
}

// Of the expensive nodes that asynchronous ones made ready, all but one go to others.
void FlatState::offer_arrived() {
  const int expensive = num_expensive_.load();
  if (expensive > 1) offer_.add(expensive - 1);
}

}  // namespace qanat
