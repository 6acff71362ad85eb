// A step whose parts run on several tasks, as the process that asks for it sees it.
#ifndef PACKAGES_CORE_NATIVE_CLUSTER_CLUSTER_EXECUTABLE_H_
#define PACKAGES_CORE_NATIVE_CLUSTER_CLUSTER_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "packages/core/native/cluster/task.h"

namespace qanat {

// A part that another task runs.
struct RemotePart {
  struct Feed {
    int index;
    DType dtype;
  };

  std::shared_ptr<Connection> connection;
  uint64_t executable = 0;  // its number there
  std::vector<Feed> feeds;  // the fed values it needs
  int first_node = 0;       // where its nodes stand among those of all parts
};

// Immutable, run by any number of threads at once. One frame a task and step.
class ClusterExecutable {
 public:
  // `local`: this process's own part, which takes part as `task`; both null where it has none. Its
  // nodes are the first.
  ClusterExecutable(std::shared_ptr<Task> task, std::shared_ptr<Executable> local,
                    std::vector<RemotePart> remotes)
      : task_(std::move(task)), local_(std::move(local)), remotes_(std::move(remotes)) {}

  const std::vector<RemotePart>& remotes() const { return remotes_; }
  Executable* local() const { return local_.get(); }

  // Runs a step. `local` is the part of this process with its feeds, null where there is none;
  // `feeds` has what each remote part is fed, `results` gets what each fetches.
  Status run(const StepOptions& options, Step* local, std::vector<std::vector<Token>> feeds,
             std::vector<std::vector<Token>>* results);

 private:
  struct Shared;

  void ask(uint64_t step, const std::shared_ptr<Shared>& shared, size_t part,
           std::vector<Token> feeds);
  Status run_local(uint64_t step, const StepOptions& options, Step* local, Shared* shared);
  void wait(const StepOptions& options, Shared* shared);
  void abort(uint64_t step, const Status& status, Shared* shared);
  std::string awaited(Shared* shared);

  const std::shared_ptr<Task> task_;
  const std::shared_ptr<Executable> local_;
  const std::vector<RemotePart> remotes_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_CLUSTER_CLUSTER_EXECUTABLE_H_
