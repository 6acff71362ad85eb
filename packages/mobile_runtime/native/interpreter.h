// Loads a model and runs it. No heap once it is loaded, no threads, no exceptions.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_INTERPRETER_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_INTERPRETER_H_

#include "packages/mobile_runtime/native/node_context.h"

namespace qanat::mobile {

struct LoadOptions {
  size_t memory_limit = SIZE_MAX;  // of the heap, the arena included
  // Each adds kernels: the qanat_register_kernels of a library.
  void (*const* kernel_libraries)(KernelRegistry*) = nullptr;
  int num_kernel_libraries = 0;
  SharingListener sharing = nullptr;
  void* sharing_arg = nullptr;
};

class Interpreter {
 public:
  explicit Interpreter(size_t memory_limit) : memory_(memory_limit) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  // Once. Builds the kernels and, with zeros as inputs, runs all nodes, so that they tell how much
  // scratch they need. `memory` is the file (see ModelFile::open), and stays as it is.
  bool load(const void* memory, size_t bytes, const LoadOptions& options, Failure& failure);

  // After a load that succeeded. Inputs are to be written anew each time: nodes may use their
  // memory once it is not needed.
  bool run(Failure& failure);

  const ModelFile& file() const { return program_.file; }
  const TensorView& input(uint32_t i) const { return view(program_.file.input(i)); }
  const TensorView& output(uint32_t i) const { return view(program_.file.output(i)); }

  size_t scratch_bytes() const { return scratch_bytes_; }
  // All memory from the heap: arena, scratch, kernels and tables.
  size_t memory_bytes() const { return memory_.used(); }

 private:
  bool make_tables(Failure& failure);
  bool check_order(Failure& failure);
  bool find_kernels(const LoadOptions& options, Failure& failure);
  bool build_kernels(Failure& failure);
  bool rehearse(const LoadOptions& options, Failure& failure);
  bool run_nodes(NodeContext& context) const;
  const TensorView& view(const PortRecord& port) const { return program_.views[port.value]; }

  Memory memory_;
  Program program_;
  char* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_INTERPRETER_H_
