#include "packages/kernels_cpu/native/elementwise_loops.h"

#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::kernels_cpu {

QANAT_SIMD_DECLARE(BinaryLoopTable, binary_loop_table)
QANAT_SIMD_DECLARE(UnaryLoopTable, unary_loop_table)

namespace {

// Equality of the types that have no vector instructions: a[i * kLeft] against b[i * kRight].
template <typename T, bool kEqual, int kLeft, int kRight>
void compare(const void* a, const void* b, void* out, int64_t n, double) {
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  bool* z = static_cast<bool*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = (x[i * kLeft] == y[i * kRight]) == kEqual;
}

template <typename T, bool kEqual>
constexpr BinaryLoops kCompare = {compare<T, kEqual, 1, 1>, compare<T, kEqual, 0, 1>,
                                  compare<T, kEqual, 1, 0>};

template <typename T>
BinaryLoops compare_loops(BinaryOp op) {
  if (op == BinaryOp::kEqual) return kCompare<T, true>;
  if (op == BinaryOp::kNotEqual) return kCompare<T, false>;
  return {};
}

}  // namespace

BinaryLoops binary_loops(BinaryOp op, DType dtype) {
  switch (dtype) {
    case DType::kComplex64:
      return compare_loops<std::complex<float>>(op);
    case DType::kComplex128:
      return compare_loops<std::complex<double>>(op);
    case DType::kString:
      return compare_loops<Bytes>(op);
    default:
      return QANAT_SIMD_SELECT(binary_loop_table).find(op, dtype);
  }
}

UnaryLoop unary_loop(UnaryOp op, DType dtype) {
  return QANAT_SIMD_SELECT(unary_loop_table).find(op, dtype);
}

}  // namespace qanat::kernels_cpu
