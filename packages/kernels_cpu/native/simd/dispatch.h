// How a function that is compiled once per instruction set is found at run time.
//
// A family gathers its vector functions in a struct of function pointers. The file that is compiled
// once per instruction set defines one such table in its own namespace,
//
//   namespace qanat::micro::QANAT_SIMD_NS {
//   const SoftmaxTable softmax_table = {...};
//   }
//
// and the ordinary file that callers reach says, in namespace qanat::micro,
//
//   QANAT_SIMD_DECLARE(SoftmaxTable, softmax_table)
//   ... QANAT_SIMD_SELECT(softmax_table).rows(...)
//
// Code compiled for a higher instruction set must not emit symbols that the linker may merge with
// others: no std:: templates, no inline functions outside the QANAT_SIMD_NS namespaces.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_DISPATCH_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_DISPATCH_H_

#include "packages/kernels_cpu/native/simd/cpu_features.h"

#if defined(__x86_64__)

#define QANAT_SIMD_DECLARE(Table, name) \
  namespace baseline {                  \
  extern const Table name;              \
  }                                     \
  namespace avx2 {                      \
  extern const Table name;              \
  }                                     \
  namespace avx512 {                    \
  extern const Table name;              \
  }

#define QANAT_SIMD_SELECT(name) \
  (*::qanat::simd::select(&baseline::name, &avx2::name, &avx512::name))

namespace qanat::simd {

template <typename Table>
const Table* select(const Table* baseline, const Table* avx2, const Table* avx512) {
  switch (level()) {
    case Level::kAvx512:
      return avx512;
    case Level::kAvx2:
      return avx2;
    case Level::kBaseline:
      break;
  }
  return baseline;
}

}  // namespace qanat::simd

#else

#define QANAT_SIMD_DECLARE(Table, name) \
  namespace neon {                      \
  extern const Table name;              \
  }

#define QANAT_SIMD_SELECT(name) (neon::name)

#endif

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_DISPATCH_H_
