// Which instruction set the vector code runs on.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_SIMD_CPU_FEATURES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_SIMD_CPU_FEATURES_H_

namespace qanat::simd {

// The levels that one source is compiled for, each including the ones before it. On ARM the only
// level is kBaseline, which there means NEON.
enum class Level {
  kBaseline,  // x86-64: SSE2; ARM: NEON
  kAvx2,      // AVX2 and FMA
  kAvx512,    // AVX-512 F, BW, DQ and VL
};

const char* level_name(Level level);

// The highest level that both the processor and the operating system support.
Level highest_level();

// The level in use: the highest one, unless the environment variable QANAT_CPU_ISA (baseline, avx2
// or avx512), read once, names a lower one.
Level level();

// Changes the level in use, for tests and benchmarks that visit all of them. Refuses, and returns
// false, where the machine lacks it. Not to be called while kernels run.
bool set_level(Level level);

}  // namespace qanat::simd

#endif  // PACKAGES_KERNELS_CPU_NATIVE_SIMD_CPU_FEATURES_H_
