// What the steps of one session share.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_RUNTIME_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_RUNTIME_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "packages/core/native/device/thread_pool.h"
#include "packages/core/native/executor/kernel_init.h"
#include "packages/core/native/executor/resources.h"
#include "packages/core/native/memory/allocator.h"

namespace qanat {

class Runtime {
 public:
  // `threads` work at once, callers included; 0 for as many as this process may use.
  Runtime(int threads, std::shared_ptr<Resources> resources);

  ThreadPool& pool() { return pool_; }
  Allocator& allocator() { return allocator_; }
  Resources& resources() { return *resources_; }

  // Builds a node's kernel; one that keeps state of its own only the first time the node is seen.
  Status kernel(const KernelDef& def, const NodeDef& node, std::shared_ptr<BuiltKernel>* kernel);

 private:
  Allocator& allocator_;
  const std::shared_ptr<Resources> resources_;
  ThreadPool pool_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<BuiltKernel>> stateful_;  // by node name
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_RUNTIME_H_
