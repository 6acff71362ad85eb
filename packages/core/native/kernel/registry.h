// How a kernel library makes its kernels known. It is a plain shared object with two C entry
// points:
//
//   extern "C" int32_t qanat_kernel_abi(void);                      // returns kKernelAbi
//   extern "C" void qanat_register_kernels(qanat::KernelRegistry*);  // adds all of its kernels
#ifndef PACKAGES_CORE_NATIVE_KERNEL_REGISTRY_H_
#define PACKAGES_CORE_NATIVE_KERNEL_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>

#include "packages/core/native/kernel/kernel.h"
#include "packages/core/native/kernel/selection.h"

namespace qanat {

// Changes whenever a header of this folder changes what a compiled kernel relies on.
inline constexpr int32_t kKernelAbi = 3;

inline constexpr int kMaxTypeConstraints = 4;

struct TypeConstraint {
  const char* attr;  // of the op, such as "T"
  DType dtype;
};

enum KernelFlags : uint32_t {
  kPlain = 0,
  // Usually takes many microseconds (MatMul, Conv2D): worth another thread when one is idle. All
  // others are run where their last input was produced.
  kExpensive = 1,
  // Keeps state of its own between steps (random ops): the host keeps one kernel a session and
  // node, however many plans contain the node.
  kStateful = 2,
};

struct KernelDef {
  const char* op;
  TypeConstraint types[kMaxTypeConstraints];
  int num_types;
  uint32_t flags;
  size_t size, align;
  Kernel* (*construct)(void* memory, KernelInit& init);  // in memory of the host's
};

class KernelRegistry {
 public:
  // Strings are kept, not copied: literals.
  virtual void add(const KernelDef& def) = 0;

  // add<MatMulKernel<float>>("MatMul", {{"T", DType::kFloat32}}, kExpensive); nothing where this
  // build has no such kernel (selection.h).
  template <typename K>
  QANAT_SELECTING void add(const char* op, std::initializer_list<TypeConstraint> types,
                           uint32_t flags = kPlain) {
    if (!is_selected(op)) return;
    KernelDef def{
        op, {}, 0, flags, sizeof(K), alignof(K), [](void* memory, KernelInit& init) -> Kernel* {
          return new (memory) K(init);
        }};
    for (const TypeConstraint& type : types) {
      if (def.num_types < kMaxTypeConstraints) def.types[def.num_types++] = type;
    }
    add(def);
  }

 protected:
  ~KernelRegistry() = default;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_REGISTRY_H_
