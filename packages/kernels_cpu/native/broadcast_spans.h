// A binary elementwise op over operands that broadcast.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_SPANS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_SPANS_H_

#include "packages/core/native/kernel/kernel.h"
#include "packages/kernels_cpu/native/binary_spans.h"

namespace qanat::kernels_cpu {

// out = op(a, b), where the shapes of a and b broadcast to that of out, which has elements. The
// memory of out may be that of an operand of as many elements.
void run_broadcast(KernelContext& context, const BinarySpans& spans, const TensorView& a,
                   const TensorView& b, const TensorView& out);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_BROADCAST_SPANS_H_
