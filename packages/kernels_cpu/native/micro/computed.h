// Which types this build computes in: a phone's program selects dtypes (core/native/kernel).
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_COMPUTED_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_COMPUTED_H_

#include "packages/core/native/kernel/selection.h"

namespace qanat::micro {

template <typename T>
inline constexpr bool kComputes = true;

// Values of the 32-bit integers pass through it, too.
template <>
inline constexpr bool kComputes<double> =
    is_selected(DType::kFloat64) || is_selected(DType::kInt32) || is_selected(DType::kUInt32);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_COMPUTED_H_
