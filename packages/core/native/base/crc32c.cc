// By the CPU's own instruction where it has one, else eight bytes a round by eight tables ("slicing
// by 8": Kounavis and Berry, "A Systematic Approach to Building High Performance, Software-based,
// CRC Generators", 2005).
#include "packages/core/native/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace qanat {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, the lowest bit first.

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[n][b]: what byte b contributes to the remainder when n more bytes follow it.
Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder >> 1) ^ (remainder & 1 ? kPolynomial : 0);
    }
    tables[0][byte] = remainder;
  }
  for (size_t n = 1; n < tables.size(); ++n) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

// Made when they are first needed: in a program for a phone they would be a tenth of it.
const Tables& tables() {
  static const Tables made = make_tables();
  return made;
}

// The remainder `crc` of what went before, moved on by whole words.
using Words = uint32_t (*)(const uint8_t* bytes, size_t words, uint32_t crc);

uint32_t words_by_tables(const uint8_t* bytes, size_t words, uint32_t crc) {
  const Tables& by_place = tables();
  for (; words > 0; --words, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    word ^= crc;
    crc = 0;
    for (int n = 0; n < 8; ++n) crc ^= by_place[7 - n][(word >> (8 * n)) & 255];
  }
  return crc;
}

// How one word moves a remainder on, as an instruction; and whether this CPU has it.
#if defined(__x86_64__)
#define QANAT_CRC_TARGET "sse4.2"

__attribute__((target(QANAT_CRC_TARGET), always_inline)) inline uint64_t step(uint64_t crc,
                                                                              uint64_t word) {
  return __builtin_ia32_crc32di(crc, word);
}

// By hand and not by __builtin_cpu_supports, which answers no to everything under zig's clang.
bool has_instruction() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_SSE4_2) != 0;
}
#elif defined(__aarch64__)
#define QANAT_CRC_TARGET "crc"

__attribute__((target(QANAT_CRC_TARGET), always_inline)) inline uint64_t step(uint64_t crc,
                                                                              uint64_t word) {
  return __crc32cd(static_cast<uint32_t>(crc), word);
}

bool has_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
#endif

#ifdef QANAT_CRC_TARGET
uint64_t word_at(const uint8_t* bytes, size_t i) {
  uint64_t word;
  std::memcpy(&word, bytes + 8 * i, sizeof(word));
  return word;
}

#ifndef __OPTIMIZE_SIZE__  // which says of a phone's program, that reads one small file
// The instruction takes three cycles and one may begin in each: three stripes of the bytes go side
// by side, and their remainders are put together.
constexpr int kStripeBytesLog2 = 12;
constexpr size_t kStripeWords = (size_t{1} << kStripeBytesLog2) / 8;

using Matrix = std::array<uint32_t, 32>;  // A linear map of remainders: where it takes each bit.

uint32_t image(const Matrix& map, uint32_t crc) {
  uint32_t result = 0;
  for (size_t bit = 0; bit < map.size(); ++bit) result ^= (crc >> bit) & 1 ? map[bit] : 0;
  return result;
}

// [n][b]: where the zeros of a whole stripe take a remainder with b as its n-th byte.
using StripeTables = std::array<std::array<uint32_t, 256>, 4>;

StripeTables make_stripe_tables() {
  Matrix zeros{};
  for (size_t bit = 0; bit < zeros.size(); ++bit) {
    const uint32_t crc = uint32_t{1} << bit;
    zeros[bit] = (crc >> 8) ^ tables()[0][crc & 255];
  }
  for (int i = 0; i < kStripeBytesLog2; ++i) {
    Matrix twice{};
    for (size_t bit = 0; bit < zeros.size(); ++bit) twice[bit] = image(zeros, zeros[bit]);
    zeros = twice;
  }
  StripeTables made{};
  for (size_t n = 0; n < made.size(); ++n) {
    for (uint32_t byte = 0; byte < 256; ++byte) made[n][byte] = image(zeros, byte << (8 * n));
  }
  return made;
}

uint32_t past_stripe(const StripeTables& tables, uint64_t crc) {
  uint32_t result = 0;
  for (size_t n = 0; n < 4; ++n) result ^= tables[n][(crc >> (8 * n)) & 255];
  return result;
}
#endif

__attribute__((target(QANAT_CRC_TARGET))) uint32_t words_by_instruction(const uint8_t* bytes,
                                                                        size_t words,
                                                                        uint32_t before) {
  uint64_t crc = before;
#ifndef __OPTIMIZE_SIZE__
  static const StripeTables past = make_stripe_tables();
  for (; words >= 3 * kStripeWords; words -= 3 * kStripeWords, bytes += 3 * 8 * kStripeWords) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kStripeWords; ++i) {
      crc = step(crc, word_at(bytes, i));
      second = step(second, word_at(bytes, i + kStripeWords));
      third = step(third, word_at(bytes, i + 2 * kStripeWords));
    }
    crc = past_stripe(past, past_stripe(past, crc) ^ second) ^ third;
  }
#endif
  for (size_t i = 0; i < words; ++i) crc = step(crc, word_at(bytes, i));
  return static_cast<uint32_t>(crc);
}
#else
constexpr Words words_by_instruction = words_by_tables;

bool has_instruction() { return false; }
#endif

}  // namespace

uint32_t crc32c(const void* data, size_t size, uint32_t before) {
  static const Words words = has_instruction() ? words_by_instruction : words_by_tables;
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t crc = words(bytes, size / 8, ~before);
  bytes += size & ~size_t{7};
  const auto& of_byte = tables()[0];
  for (size &= 7; size > 0; --size, ++bytes) crc = (crc >> 8) ^ of_byte[(crc ^ *bytes) & 255];
  return ~crc;
}

}  // namespace qanat
