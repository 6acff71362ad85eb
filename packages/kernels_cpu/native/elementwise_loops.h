// The inner loops of elementwise ops: one function an op, element type and way of reading operands,
// compiled once per instruction set.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_LOOPS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_LOOPS_H_

#include <cstdint>

#include "packages/core/native/kernel/dtype.h"

namespace qanat::kernels_cpu {

// Named as the graph ops are. Those before Less give the operands' type, the others bool.
// clang-format off
#define QANAT_BINARY_OPS(X) \
  X(Add) X(Sub) X(Mul) X(Div) X(FloorDiv) X(FloorMod) X(TruncateMod) X(Pow) X(Maximum) \
  X(Minimum) X(SquaredDifference) X(DivNoNan) X(MulNoNan) X(Xdivy) X(Atan2) X(TanhGrad) \
  X(SigmoidGrad) X(SqrtGrad) X(RsqrtGrad) X(ReciprocalGrad) X(ReluGrad) X(Relu6Grad) \
  X(LeakyReluGrad) X(EluGrad) X(SeluGrad) X(SoftplusGrad) X(SoftsignGrad) X(Less) X(LessEqual) \
  X(Greater) X(GreaterEqual) X(Equal) X(NotEqual) X(LogicalAnd) X(LogicalOr)
// clang-format on
enum class BinaryOp {
#define QANAT_ENUMERATOR(name) k##name,
  QANAT_BINARY_OPS(QANAT_ENUMERATOR)
};

// clang-format off
#define QANAT_UNARY_OPS(X) \
  X(Neg) X(Abs) X(Sign) X(Square) X(Exp) X(Expm1) X(Log) X(Log1p) X(Sqrt) X(Rsqrt) X(Reciprocal) \
  X(Sin) X(Cos) X(Tan) X(Asin) X(Acos) X(Atan) X(Sinh) X(Cosh) X(Tanh) X(Sigmoid) X(Erf) X(Erfc) \
  X(Floor) X(Ceil) X(Round) X(Relu) X(Relu6) X(LeakyRelu) X(Elu) X(Selu) X(Softplus) X(Softsign) \
  X(Cbrt) X(IsNan) X(IsInf) X(IsFinite) X(LogicalNot)
// clang-format on
enum class UnaryOp {
  QANAT_UNARY_OPS(QANAT_ENUMERATOR)
#undef QANAT_ENUMERATOR
};

// out[i] = op(a[i], b[i]) for n elements. `out` may be a or b, else it overlaps neither.
// `parameter` is the op's number where it has one (alpha of LeakyRelu). Divisors of integers are
// not 0, their exponents not negative: the caller has looked.
using BinaryLoop = void (*)(const void* a, const void* b, void* out, int64_t n, double parameter);
using UnaryLoop = void (*)(const void* a, void* out, int64_t n, double parameter);

struct BinaryLoops {
  BinaryLoop same;          // a[i] and b[i]
  BinaryLoop scalar_left;   // a[0] and b[i]
  BinaryLoop scalar_right;  // a[i] and b[0]
};

// The loops for the instruction set in use; nulls where the op has none for the dtype. Integers
// wrap. The halves have none of their own; complex numbers and strings have Equal and NotEqual
// only.
BinaryLoops binary_loops(BinaryOp op, DType dtype);
UnaryLoop unary_loop(UnaryOp op, DType dtype);

struct BinaryLoopTable {
  BinaryLoops (*find)(BinaryOp op, DType dtype);
};
struct UnaryLoopTable {
  UnaryLoop (*find)(UnaryOp op, DType dtype);
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_LOOPS_H_
