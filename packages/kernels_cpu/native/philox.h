// Philox-4x32-10, the counter-based generator of Salmon et al., "Parallel Random Numbers: As Easy
// as 1, 2, 3" (SC 2011): block n of a stream is a function of the key and n alone.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_PHILOX_H_
#define PACKAGES_KERNELS_CPU_NATIVE_PHILOX_H_

#include <cstdint>

namespace qanat::kernels_cpu {

// Two seeds name a stream of 2^64 blocks of four words: the first is the key, the second the upper
// half of the counter, whose lower half counts blocks.
struct PhiloxStream {
  uint64_t seed = 0;
  uint64_t seed2 = 0;
};

inline constexpr int kPhiloxWords = 4;

// Words and normal numbers are made in tiles of so many words; a tile starts at a block of its own.
inline constexpr int64_t kRandomTileWords = 512;
inline constexpr int64_t kRandomTileBlocks = kRandomTileWords / kPhiloxWords;

// The numbers in a tile: one a word, or, for double, one each two words.
template <typename T>
inline constexpr int64_t kRandomTile =
    kRandomTileWords * static_cast<int64_t>(sizeof(uint32_t)) /
    static_cast<int64_t>(sizeof(T) > sizeof(uint32_t) ? 2 * sizeof(uint32_t) : sizeof(uint32_t));

// The words of the tile that starts at `block`, block by block.
void random_words(const PhiloxStream& stream, uint64_t block, uint32_t* words);

// A tile of normal numbers with mean 0 and standard deviation 1, out of a tile of words.
void random_normals(const uint32_t* words, float* normals);
void random_normals(const uint32_t* words, double* normals);

struct RandomTable {
  void (*words)(const PhiloxStream& stream, uint64_t block, uint32_t* words);
  void (*normals_f32)(const uint32_t* words, float* normals);
  void (*normals_f64)(const uint32_t* words, double* normals);
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_PHILOX_H_
