#include "packages/kernels_cpu/native/strided_copy.h"

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/ranges.h"

namespace qanat::kernels_cpu {

void copy_from_part(KernelContext& context, const TensorView& from, const StridedPart& part,
                    const TensorView& to) {
  const int64_t stride = part.walk.inner_stride(0);
  visit_storage(from.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    const E* first = from.as<E>() + part.start;
    for_ranges(context, part.count, kGrain, [&](int64_t begin, int64_t end) {
      part.walk.for_runs(begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
        const E* x = first + offsets[0];
        E* y = to.as<E>() + at;
        if (stride == 1) return copy_run(x, y, count);
        for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
      });
    });
  });
}

void copy_to_part(KernelContext& context, const TensorView& from, const TensorView& to,
                  const StridedPart& part) {
  const int64_t stride = part.walk.inner_stride(0);
  visit_storage(from.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    E* first = to.as<E>() + part.start;
    for_ranges(context, part.count, kGrain, [&](int64_t begin, int64_t end) {
      part.walk.for_runs(begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
        const E* x = from.as<E>() + at;
        E* y = first + offsets[0];
        if (stride == 1) return copy_run(x, y, count);
        for (int64_t i = 0; i < count; ++i) y[i * stride] = x[i];
      });
    });
  });
}

}  // namespace qanat::kernels_cpu
