// The kernels that were loaded into this process.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_REGISTRY_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_REGISTRY_H_

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "packages/core/native/base/status.h"
#include "packages/core/native/executor/graph_def.h"
#include "packages/core/native/kernel/registry.h"

namespace qanat {

// Thread-safe. Kernels are found by op and type attrs and stay for the life of the process.
class LoadedKernels {
 public:
  static LoadedKernels& process();

  // Runs the library's qanat_register_kernels, or any function like it. All of its kernels become
  // known or, where one could be meant by the same node as another, none, and the error names both.
  Status add_all(void (*register_kernels)(KernelRegistry*));

  // One kernel more, whose strings stay for the life of the process.
  Status add(const KernelDef& def);

  // Opens a shared object and adds its kernels; a second time does nothing.
  Status load_library(const std::string& path);

  // The kernel for a node by its op and type attrs; where there is none the error lists what
  // exists.
  Status find(const NodeDef& node, const KernelDef** def);

  std::vector<KernelDef> all();

 private:
  using ByOp = std::map<std::string_view, std::vector<const KernelDef*>>;

  Status add_locked(const std::vector<KernelDef>& defs);

  std::mutex mutex_;
  std::set<std::string> libraries_;
  std::deque<KernelDef> defs_;  // never moved
  ByOp by_op_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_REGISTRY_H_
