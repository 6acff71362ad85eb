// What becomes of the int32 sums of products of quantised numbers.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_END_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_END_H_

#include <cstdint>

namespace qanat::micro {

// Sum s of channel c becomes, as an int8,
//
//   clamp(zero_point + floor((s + bias[c]) * multiplier[c] / 2^shift[c] + 1/2), least, 127),
//
// where s + bias[c] wraps to int32, multiplier is 0 or more and shift from 1 to 62: in integers,
// and so the same bits everywhere. Source: Jacob et al., "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference" (2018), section 2.2, with one rounding.
struct Int8End {
  const int32_t* bias;
  const int32_t* multiplier;
  const int32_t* shift;
  int32_t zero_point;
  int32_t least;  // -128, or zero_point after a relu
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_INT8_END_H_
