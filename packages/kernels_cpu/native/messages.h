// Shapes and checks as they appear in error messages.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MESSAGES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MESSAGES_H_

#include "packages/core/native/kernel/kernel.h"

namespace qanat::kernels_cpu {

// "[2,3]": use as text(shape).c_str() within one expression.
class ShapeText {
 public:
  explicit ShapeText(const Shape& shape);
  const char* c_str() const { return text_; }

 private:
  char text_[kMaxRank * 21 + 3];
};
inline ShapeText text(const Shape& shape) { return ShapeText(shape); }

// The dtype of input or output i; kInvalid where the node has no such.
DType input_dtype(const KernelInit& init, int i);
DType output_dtype(const KernelInit& init, int i);

// Whether input i has that dtype, checked when the kernel is built; `what` names the input.
bool expect_dtype(KernelInit& init, int i, DType dtype, const char* what);

// Whether the node has so many inputs and outputs; an op's definition says so too, but a kernel
// reads memory by it.
bool expect_arity(KernelInit& init, int inputs, int outputs);

// Whether input i has that rank; `what` names the input.
bool expect_rank(KernelContext& context, int i, int rank, const char* what);

// Whether inputs i and j have the same shape.
bool expect_same_shape(KernelContext& context, int i, int j);

// Whether input i holds int32 or int64, checked when the kernel is built.
bool expect_indices(KernelInit& init, int i, const char* what);

// Whether inputs i and j, or input i and output j, have the same dtype, checked when the kernel is
// built.
bool expect_same_dtype(KernelInit& init, int i, int j);
bool expect_output_dtype(KernelInit& init, int i, int output);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MESSAGES_H_
