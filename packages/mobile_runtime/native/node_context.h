// What a kernel sees of the world while it runs: values at their planned places.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_CONTEXT_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_CONTEXT_H_

#include "packages/mobile_runtime/native/memory.h"
#include "packages/mobile_runtime/native/program.h"

namespace qanat::mobile {

// Told of each input that an output lies in, or could: `input` was aliased, or offered for reuse.
using SharingListener = void (*)(void* arg, uint32_t node, uint32_t output, uint32_t input);

// Runs nodes one after the other on the calling thread.
//
// An output lies where the file says. A file may say anything, so each output is compared with what
// its kernel reads: it may lie in an input only where the kernel offers that, and exactly there;
// otherwise a kernel could overwrite an index that it has checked.
class NodeContext final : public KernelContext {
 public:
  NodeContext(Program& program, Failure& failure) : program_(program), failure_(failure) {}

  // Scratch is measured and comes from `memory`, which is released after each node; the listener,
  // if there is one, is told.
  void rehearse(Memory& memory, SharingListener listener, void* arg);
  // Scratch of `bytes`, as measured, comes from here.
  void perform(char* scratch, size_t bytes);

  // False where it failed, which `failure` tells.
  bool run(uint32_t node);

  // The most scratch that a node has used.
  size_t peak_scratch() const { return peak_scratch_; }

  void fail(StatusCode code, const char* message) override;
  bool failed() const override { return !failure_.ok(); }

  TensorView* output(int i, const Shape& shape) override;
  TensorView* output_reusing(int i, const Shape& shape, const int* candidates, int count) override;
  bool output_alias(int i, int from, const Shape& shape) override;
  void* scratch(size_t bytes) override;
  Parallel& parallel() override { return parallel_; }

  // The phone keeps nothing from one run to the next but the kernels: all of these fail.
  bool output_variable(int, Text, Text, DType) override;
  bool variable_initialized(int) override { return no_state(); }
  bool read_variable(int, int) override { return no_state(); }
  bool assign_variable(int, int) override { return no_state(); }
  bool lock_variables(const int*, int, TensorView**) override { return no_state(); }
  void unlock_variables(const int*, int) override {}
  bool output_resource(int, Resource* made) override;
  KeptValue* keep(int) override;
  KeptValue* keep_new(DType, const Shape&) override;
  bool output_kept(int, KeptValue*) override { return no_state(); }

 private:
  bool no_state();
  bool is_input(int i) const { return i >= 0 && i < num_inputs_; }
  const TensorView& output_view(uint32_t i) const;
  // Output i, if it is planned with that shape and may be written, in the candidates' place at
  // most.
  TensorView* planned_output(int i, const Shape& shape, const int* candidates, int count);
  bool may_write(uint32_t output, const int* candidates, int count);
  void tell(int output, const int* candidates, int count);

  Program& program_;
  Failure& failure_;
  SerialParallel parallel_;
  uint32_t index_ = 0;
  const NodeRecord* node_ = nullptr;
  bool* made_ = nullptr;  // by output of the node

  Memory* rehearsal_ = nullptr;
  SharingListener listener_ = nullptr;
  void* listener_arg_ = nullptr;
  char* scratch_ = nullptr;
  size_t scratch_bytes_ = 0;
  size_t scratch_used_ = 0;
  size_t peak_scratch_ = 0;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_CONTEXT_H_
