// Which of the kernels that a library could have this build has: all, or those that one model
// needs.
//
// A build for a phone (//packages/mobile_runtime:defs.bzl) names, by two macros, ops and the dtypes
// that kernels are registered for,
//
//   -DQANAT_SELECTED_OPS(X)=X(Conv2D) X(MaxPool)     -DQANAT_SELECTED_DTYPES(X)=X(kFloat32)
//
// and what is not named is then code that nobody reaches, which the linker leaves out.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_SELECTION_H_
#define PACKAGES_CORE_NATIVE_KERNEL_SELECTION_H_

#include "packages/core/native/kernel/dtype.h"

// Of functions that hand a name on: where kernels are selected, the optimiser is to see through
// them whatever it thinks of the size.
#ifdef QANAT_SELECTED_OPS
#define QANAT_SELECTING __attribute__((always_inline)) inline
#else
#define QANAT_SELECTING inline
#endif

namespace qanat {

QANAT_SELECTING bool is_selected([[maybe_unused]] const char* op) {
#ifdef QANAT_SELECTED_OPS
#define QANAT_IS(name) || __builtin_strcmp(op, #name) == 0
  return false QANAT_SELECTED_OPS(QANAT_IS);
#undef QANAT_IS
#else
  return true;
#endif
}

constexpr bool is_selected([[maybe_unused]] DType dtype) {
#ifdef QANAT_SELECTED_DTYPES
#define QANAT_IS(e) || dtype == DType::e
  return false QANAT_SELECTED_DTYPES(QANAT_IS);
#undef QANAT_IS
#else
  return true;
#endif
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_SELECTION_H_
