// For tests: the levels, one after the other.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_EACH_LEVEL_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_EACH_LEVEL_H_

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "packages/kernels_cpu/native/simd/cpu_features.h"

namespace qanat::simd {

// Calls test() at each level that this machine has, and says at which. The environment variable
// QANAT_TEST_ISA (as QANAT_CPU_ISA) leaves one level, and ends the program where the machine lacks
// it: ci/avx512 has no time for the others.
template <typename Test>
void for_each_level(Test test) {
  const Level before = level();
  const char* only = std::getenv("QANAT_TEST_ISA");
  bool tested = false;
  for (Level level : {Level::kBaseline, Level::kAvx2, Level::kAvx512}) {
    if (only != nullptr && std::strcmp(only, level_name(level)) != 0) continue;
    if (!set_level(level)) break;
    std::printf("level %s\n", level_name(level));
    test();
    tested = true;
  }
  if (!tested) {
    std::fprintf(stderr, "QANAT_TEST_ISA: expected a level of this machine, got %s\n", only);
    std::exit(1);
  }
  set_level(before);
}

}  // namespace qanat::simd

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_EACH_LEVEL_H_
