// Pairs of int16: how an instruction set multiplies two by two and adds both products to an int32.
// Included only by files that are compiled once per instruction set (see simd/dispatch.h).
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PAIRS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PAIRS_H_

#include <cstdint>

#include "packages/kernels_cpu/native/simd/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace qanat::micro::QANAT_SIMD_NS {

using namespace simd::QANAT_SIMD_NS;

// Wraps, as the sums of quantised products do.
QANAT_INLINE Vec<int32_t> wrapping_sum(Vec<int32_t> a, Vec<int32_t> b) {
  return bits_as<Vec<int32_t>>(bits_as<Vec<uint32_t>>(a) + bits_as<Vec<uint32_t>>(b));
}

#if defined(__x86_64__)

// The same two values in each lane.
struct ValuePair {
  Vec<int32_t> both;

  QANAT_INLINE explicit ValuePair(const int16_t* from) {
    int32_t pair;
    __builtin_memcpy(&pair, from, sizeof(pair));
    both = splat(pair);
  }
};

// A pair of weights in each lane, the first in its lower half.
struct WeightPairs {
  Vec<int32_t> both;

  QANAT_INLINE explicit WeightPairs(Vec<int32_t> packed) : both(packed) {}

  QANAT_INLINE Vec<int32_t> add_products(const ValuePair& values, Vec<int32_t> sums) const {
#if defined(__AVX512BW__)
    const auto products = _mm512_madd_epi16(bits_as<__m512i>(both), bits_as<__m512i>(values.both));
#elif defined(__AVX2__)
    const auto products = _mm256_madd_epi16(bits_as<__m256i>(both), bits_as<__m256i>(values.both));
#else
    const auto products = _mm_madd_epi16(bits_as<__m128i>(both), bits_as<__m128i>(values.both));
#endif
    return wrapping_sum(sums, bits_as<Vec<int32_t>>(products));
  }
};

#else

struct ValuePair {
  Vec<int32_t> first, second;

  QANAT_INLINE explicit ValuePair(const int16_t* from)
      : first(splat<int32_t>(from[0])), second(splat<int32_t>(from[1])) {}
};

struct WeightPairs {
  Vec<int32_t> first, second;

  QANAT_INLINE explicit WeightPairs(Vec<int32_t> packed)
      : first((packed << 16) >> 16), second(packed >> 16) {}

  QANAT_INLINE Vec<int32_t> add_products(const ValuePair& values, Vec<int32_t> sums) const {
    return wrapping_sum(sums, first * values.first + second * values.second);
  }
};

#endif

}  // namespace qanat::micro::QANAT_SIMD_NS

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_PAIRS_H_
