// Eight bytes a round by eight tables ("slicing by 8": Kounavis and Berry, "A Systematic Approach
// to Building High Performance, Software-based, CRC Generators", 2005). No CPU's own instruction is
// used: disks are slower than this.
#include "packages/core/native/base/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace qanat {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, the lowest bit first.

using Tables = std::array<std::array<uint32_t, 256>, 8>;

// tables[n][b]: what byte b contributes to the remainder when n more bytes follow it.
constexpr Tables make_tables() {
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

constexpr Tables kTables = make_tables();

}  // namespace

uint32_t crc32c(const void* data, size_t size, uint32_t before) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint32_t crc = ~before;
  for (; size >= 8; size -= 8, bytes += 8) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof(word));
    word ^= crc;
    crc = 0;
    for (int n = 0; n < 8; ++n) crc ^= kTables[7 - n][(word >> (8 * n)) & 255];
  }
  for (; size > 0; --size, ++bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *bytes) & 255];
  return ~crc;
}

}  // namespace qanat
