// A kernel and the node it was built from.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_INIT_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_INIT_H_

#include <deque>
#include <memory>

#include "packages/core/native/executor/graph_def.h"
#include "packages/core/native/kernel/registry.h"

namespace qanat {

// Owns the kernel and what it was built from, because the kernel may point into its attrs.
class BuiltKernel {
 public:
  // Fails where the kernel's constructor does.
  static Status build(const KernelDef& def, NodeDef node, std::shared_ptr<BuiltKernel>* built);
  ~BuiltKernel();
  BuiltKernel(const BuiltKernel&) = delete;
  BuiltKernel& operator=(const BuiltKernel&) = delete;

  Kernel* kernel() const { return kernel_; }

 private:
  explicit BuiltKernel(NodeDef node) : node_(std::move(node)) {}

  NodeDef node_;
  std::deque<FloatList> floats_;  // lists of floats that were given as integers
  void* memory_ = nullptr;
  size_t align_ = 0;
  Kernel* kernel_ = nullptr;

  friend class NodeInit;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_KERNEL_INIT_H_
