// A binary elementwise op over spans of memory, for any dtype.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_BINARY_SPANS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_BINARY_SPANS_H_

#include "packages/core/native/kernel/kernel.h"
#include "packages/kernels_cpu/native/elementwise_loops.h"
#include "packages/kernels_cpu/native/half_tiles.h"

namespace qanat::kernels_cpu {

// How a loop reads its operands: both element by element, or one of them as a scalar.
enum Reading { kSame = 0, kScalarLeft = 1, kScalarRight = 2 };

// The three loops of an op for one dtype. The halves go through float32 tiles.
class BinarySpans {
 public:
  BinarySpans(BinaryOp op, DType dtype, DType result, double parameter)
      : dtype_(dtype), result_(result), parameter_(parameter) {
    const BinaryLoops loops = binary_loops(op, computed_dtype(dtype));
    loops_[kSame] = loops.same;
    loops_[kScalarLeft] = loops.scalar_left;
    loops_[kScalarRight] = loops.scalar_right;
  }

  bool exist() const { return loops_[kSame] != nullptr; }
  // Checked when the kernel is built: a graph made elsewhere may lie about its types.
  bool expect_exist(KernelInit& init) const {
    if (!exist()) init.invalid("expected numbers, got %s", dtype_name(dtype_));
    return exist();
  }

  // out[i] = op(a[i], b[i]), as `reading` says; out may be a or b.
  void run(Reading reading, const void* a, const void* b, void* out, int64_t n) const {
    if (is_half_dtype(dtype_)) return run_halves(reading, a, b, out, n);
    loops_[reading](a, b, out, n, parameter_);
  }

 private:
  void run_halves(Reading reading, const void* a, const void* b, void* out, int64_t n) const;

  DType dtype_;
  DType result_;
  double parameter_;
  BinaryLoop loops_[3];
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_BINARY_SPANS_H_
