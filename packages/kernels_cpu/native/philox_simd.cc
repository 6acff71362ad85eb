// Tiles of random words and normal numbers, compiled once per instruction set.
#include "packages/kernels_cpu/native/philox.h"
#include "packages/kernels_cpu/native/simd/math.h"

namespace qanat::kernels_cpu::QANAT_SIMD_NS {
namespace {

using simd::QANAT_SIMD_NS::kLanes;
using simd::QANAT_SIMD_NS::load;
using simd::QANAT_SIMD_NS::store;
using simd::QANAT_SIMD_NS::Vec;

// Blocks that are computed side by side: lane i is block i.
inline constexpr int kSide = 16;

// One of the ten rounds, with its two keys.
QANAT_INLINE void round(uint32_t (&c)[kPhiloxWords][kSide], uint32_t key0, uint32_t key1) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  for (int i = 0; i < kSide; ++i) {
    const uint64_t product0 = kMultiplier0 * c[0][i];
    const uint64_t product1 = kMultiplier1 * c[2][i];
    const uint32_t word0 = static_cast<uint32_t>(product1 >> 32) ^ c[1][i] ^ key0;
    const uint32_t word2 = static_cast<uint32_t>(product0 >> 32) ^ c[3][i] ^ key1;
    c[1][i] = static_cast<uint32_t>(product1);
    c[3][i] = static_cast<uint32_t>(product0);
    c[0][i] = word0;
    c[2][i] = word2;
  }
}

void words(const PhiloxStream& stream, uint64_t block, uint32_t* words) {
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int64_t done = 0; done < kRandomTileBlocks; done += kSide) {
    uint32_t c[kPhiloxWords][kSide];
    for (int i = 0; i < kSide; ++i) {
      const uint64_t at = block + static_cast<uint64_t>(done + i);
      c[0][i] = static_cast<uint32_t>(at);
      c[1][i] = static_cast<uint32_t>(at >> 32);
      c[2][i] = static_cast<uint32_t>(stream.seed2);
      c[3][i] = static_cast<uint32_t>(stream.seed2 >> 32);
    }
    uint32_t key0 = static_cast<uint32_t>(stream.seed);
    uint32_t key1 = static_cast<uint32_t>(stream.seed >> 32);
    for (int i = 0; i < 10; ++i) {
      round(c, key0, key1);
      key0 += kWeyl0;
      key1 += kWeyl1;
    }
    for (int i = 0; i < kSide; ++i) {
      for (int w = 0; w < kPhiloxWords; ++w) words[(done + i) * kPhiloxWords + w] = c[w][i];
    }
  }
}

// The method of Box and Muller: the first half of a tile are radii, the second angles, all uniform
// in (0, 1); number i and number i + half come of radius i and angle i.
template <typename T>
QANAT_INLINE void box_muller(T* uniform) {
  constexpr int64_t kHalf = kRandomTile<T> / 2;
  constexpr T kTwoPi = static_cast<T>(6.283185307179586);
  for (int64_t i = 0; i < kHalf; i += kLanes<T>) {
    const Vec<T> radius =
        simd::QANAT_SIMD_NS::sqrt(-2 * simd::QANAT_SIMD_NS::log<T>(load(uniform + i)));
    const Vec<T> angle = kTwoPi * load(uniform + kHalf + i);
    store<T>(uniform + i, radius * simd::QANAT_SIMD_NS::cos(angle));
    store<T>(uniform + kHalf + i, radius * simd::QANAT_SIMD_NS::sin(angle));
  }
}

void normals_f32(const uint32_t* words, float* normals) {
  for (int64_t i = 0; i < kRandomTile<float>; ++i) {
    normals[i] = (static_cast<float>(words[i]) + 0.5f) * 0x1p-32f;
  }
  box_muller(normals);
}

void normals_f64(const uint32_t* words, double* normals) {
  for (int64_t i = 0; i < kRandomTile<double>; ++i) {
    const uint64_t bits = (uint64_t{words[2 * i]} << 32 | words[2 * i + 1]) >> 11;
    normals[i] = (static_cast<double>(bits) + 0.5) * 0x1p-53;
  }
  box_muller(normals);
}

}  // namespace

extern const RandomTable random_table;
const RandomTable random_table = {words, normals_f32, normals_f64};

}  // namespace qanat::kernels_cpu::QANAT_SIMD_NS
