// 16-bit floating point types, as storage with exact conversions to and from float32.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_HALF_H_
#define PACKAGES_CORE_NATIVE_KERNEL_HALF_H_

#include <bit>
#include <cstdint>

namespace qanat {

// IEEE 754 binary16. Rounds to nearest, ties to even.
struct Float16 {
  uint16_t bits = 0;
  Float16() = default;
  explicit Float16(float value) : bits(encode(value)) {}
  explicit operator float() const { return decode(bits); }

  static uint16_t encode(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000);
    const uint32_t magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;
    if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and more round to infinity
    if (magnitude < 0x38800000) {  // subnormal: adding 0.5 aligns the units in the last place
      const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
      return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - 0x3f000000);
    }
    const uint32_t odd = (magnitude >> 13) & 1;
    return sign | static_cast<uint16_t>((magnitude - 0x38000000 + 0xfff + odd) >> 13);
  }

  static float decode(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude << 13));
    if (magnitude < 0x0400) {
      const float value = static_cast<float>(magnitude) * 0x1p-24f;
      return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
  }
};

// The upper half of a float32. Rounds to nearest, ties to even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(encode(value)) {}
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

  static uint16_t encode(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((word >> 16) | 0x40);
    return static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_HALF_H_
