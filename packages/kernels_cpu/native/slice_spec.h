// What a StridedSlice takes of a shape: Python's x[begin:end:stride, ..., newaxis, index].
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SLICE_SPEC_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SLICE_SPEC_H_

#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/strided_copy.h"

namespace qanat::kernels_cpu {

// Bit i speaks of item i of begin, end and strides.
struct SliceMasks {
  uint32_t begin = 0;        // from the first element on
  uint32_t end = 0;          // up to and with the last one
  uint32_t ellipsis = 0;     // all dimensions that no other item takes; at most one bit
  uint32_t new_axis = 0;     // a new dimension of 1
  uint32_t shrink_axis = 0;  // one index, whose dimension vanishes
};

struct SliceItems {
  Indices begin, end, strides;  // of equal size
};

// The result's shape and the part of the sliced tensor that it holds; or a failure.
bool resolve_slice(FailureSink& sink, const Shape& sliced, const SliceItems& items,
                   const SliceMasks& masks, Shape* result, StridedPart* part);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SLICE_SPEC_H_
