// By the CPU's own instruction where it has one, else eight bytes a round by eight tables ("slicing
// by 8": Kounavis and Berry, "A Systematic Approach to Building High Performance, Software-based,
// CRC Generators", 2005).
#include "packages/core/native/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__aarch64__)
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

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t words_by_instruction(const uint8_t* bytes, size_t words,
                                                                uint32_t crc) {
  uint64_t wide = crc;
  for (; words > 0; --words, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return static_cast<uint32_t>(wide);
}

bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
#elif defined(__aarch64__)
__attribute__((target("crc"))) uint32_t words_by_instruction(const uint8_t* bytes, size_t words,
                                                             uint32_t crc) {
  for (; words > 0; --words, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    crc = __crc32cd(crc, word);
  }
  return crc;
}

bool has_instruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }
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
