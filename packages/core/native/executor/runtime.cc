#include "packages/core/native/executor/runtime.h"

#include <sched.h>

namespace qanat {
namespace {

int usable_cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return CPU_COUNT(&cores);
}

}  // namespace

Runtime::Runtime(int threads, std::shared_ptr<Resources> resources)
    : allocator_(Allocator::process()),
      resources_(std::move(resources)),
      pool_(threads > 0 ? threads : usable_cores()) {}

Status Runtime::kernel(const KernelDef& def, const NodeDef& node,
                       std::shared_ptr<BuiltKernel>* kernel) {
  if ((def.flags & kStateful) == 0) return BuiltKernel::build(def, node, kernel);
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = stateful_.find(node.name);
  if (found != stateful_.end()) {
    *kernel = found->second;
    return {};
  }
  Status status = BuiltKernel::build(def, node, kernel);
  if (status.ok()) stateful_.try_emplace(node.name, *kernel);
  return status;
}

}  // namespace qanat
