#include "packages/kernels_cpu/native/messages.h"

#include <cinttypes>
#include <cstdio>

namespace qanat::kernels_cpu {

ShapeText::ShapeText(const Shape& shape) {
  char* at = text_;
  *at++ = '[';
  for (int i = 0; i < shape.rank(); ++i) {
    at += std::snprintf(at, 22, i == 0 ? "%" PRId64 : ",%" PRId64, shape[i]);
  }
  *at++ = ']';
  *at = '\0';
}

DType input_dtype(const KernelInit& init, int i) {
  return i < init.num_inputs() ? init.input_dtype(i) : DType::kInvalid;
}

DType output_dtype(const KernelInit& init, int i) {
  return i < init.num_outputs() ? init.output_dtype(i) : DType::kInvalid;
}

bool expect_dtype(KernelInit& init, int i, DType dtype, const char* what) {
  if (input_dtype(init, i) == dtype) return true;
  init.invalid("expected %s of dtype %s, got %s", what, dtype_name(dtype),
               dtype_name(input_dtype(init, i)));
  return false;
}

bool expect_arity(KernelInit& init, int inputs, int outputs) {
  if (init.num_inputs() == inputs && init.num_outputs() == outputs) return true;
  init.invalid("expected %d inputs and %d outputs, got %d and %d", inputs, outputs,
               init.num_inputs(), init.num_outputs());
  return false;
}

bool expect_rank(KernelContext& context, int i, int rank, const char* what) {
  const Shape& shape = context.input(i).shape;
  if (shape.rank() == rank) return true;
  context.invalid("expected %s of rank %d, got shape %s", what, rank, text(shape).c_str());
  return false;
}

bool expect_same_shape(KernelContext& context, int i, int j) {
  const Shape& a = context.input(i).shape;
  const Shape& b = context.input(j).shape;
  if (a == b) return true;
  context.invalid("expected inputs %d and %d of the same shape, got %s and %s", i, j,
                  text(a).c_str(), text(b).c_str());
  return false;
}

bool expect_indices(KernelInit& init, int i, const char* what) {
  const DType dtype = input_dtype(init, i);
  if (dtype == DType::kInt32 || dtype == DType::kInt64) return true;
  init.invalid("expected %s of dtype int32 or int64, got %s", what, dtype_name(dtype));
  return false;
}

bool expect_same_dtype(KernelInit& init, int i, int j) {
  if (input_dtype(init, i) == input_dtype(init, j)) return true;
  init.invalid("expected inputs %d and %d of the same dtype, got %s and %s", i, j,
               dtype_name(input_dtype(init, i)), dtype_name(input_dtype(init, j)));
  return false;
}

bool expect_output_dtype(KernelInit& init, int i, int output) {
  if (input_dtype(init, i) == output_dtype(init, output)) return true;
  init.invalid("expected output %d of dtype %s, got %s", output, dtype_name(input_dtype(init, i)),
               dtype_name(output_dtype(init, output)));
  return false;
}

}  // namespace qanat::kernels_cpu
