// Rows of a tensor copied from places given one by one.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_ROWS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_ROWS_H_

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/ranges.h"

namespace qanat::kernels_cpu {

// Row r of `to` = row place(r) of `from`, for rows of `row` elements.
template <typename Place>
void copy_rows(KernelContext& context, const TensorView& from, const TensorView& to, int64_t rows,
               int64_t row, const Place& place) {
  visit_storage(from.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    for_ranges(context, rows, row_grain(row), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const E* x = from.as<E>() + place(r) * row;
        E* y = to.as<E>() + r * row;
        if (row == 1) {
          *y = *x;
        } else {
          copy_run(x, y, row);
        }
      }
    });
  });
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_ROWS_H_
