// The steps that a task has a part in.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_STEP_TABLE_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_STEP_TABLE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "packages/core/native/executor/cancellation.h"
#include "packages/core/native/rendezvous/rendezvous.h"

namespace qanat {

// A task's part in one step: where its values wait, and how it is ended from outside.
struct StepEntry {
  ~StepEntry() { values->unref(); }

  LocalRendezvous* const values = new LocalRendezvous;
  Cancellation cancellation;
  const void* starter = nullptr;  // the connection that asked for it
  bool running = false, finished = false;
};

// A step is known from the first that is heard of it (its part is to run here, or another task asks
// for a value) until its part is over and all that it sent has been fetched. An aborted one is
// remembered for a while, so that a latecomer learns the cause and does not wait. Thread-safe.
class StepTable {
 public:
  using EntryPtr = std::shared_ptr<StepEntry>;

  // The step; *aborted says whether it is over, and why.
  EntryPtr find(uint64_t step, Status* aborted);
  // The same for whoever runs its part.
  EntryPtr start(uint64_t step, const void* starter, const Cancellation* parent, Status* aborted);
  // The part has run.
  void finish(uint64_t step);
  // Somebody has fetched a value.
  void fetched(uint64_t step);
  // False where the step was over already.
  bool abort(uint64_t step, const Status& status);
  // What a connection has started and what still runs here.
  std::vector<uint64_t> started_by(const void* starter);
  // Ends all, and those that are heard of later.
  void close(const Status& status);

  size_t size();

 private:
  EntryPtr find_locked(uint64_t step, Status* aborted);
  void drop_if_done(uint64_t step);

  std::mutex mutex_;  // guards all below
  std::unordered_map<uint64_t, EntryPtr> steps_;
  std::unordered_map<uint64_t, Status> aborted_;
  std::deque<uint64_t> aborted_order_;
  Status closed_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_STEP_TABLE_H_
