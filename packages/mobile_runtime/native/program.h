// A loaded model: where its values lie and which kernel each node has.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_PROGRAM_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_PROGRAM_H_

#include "packages/core/native/kernel/registry.h"
#include "packages/mobile_runtime/native/model_file.h"

namespace qanat::mobile {

struct LoadedNode {
  Kernel* (*construct)(void* memory, KernelInit& init);
  size_t size, align;  // of the kernel
  Kernel* kernel;
};

struct Program {
  ModelFile file;
  char* arena = nullptr;
  TensorView* views = nullptr;         // by value
  const TensorView** edges = nullptr;  // by edge: its value's view
  LoadedNode* nodes = nullptr;
  bool* made = nullptr;  // by edge: for the node that runs, whether its output is there
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_PROGRAM_H_
