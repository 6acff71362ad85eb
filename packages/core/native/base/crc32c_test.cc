#include "packages/core/native/base/crc32c.h"

#include <numeric>
#include <vector>

#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

uint32_t crc_of(const std::vector<uint8_t>& bytes) { return crc32c(bytes.data(), bytes.size()); }

std::vector<uint8_t> rising() {
  std::vector<uint8_t> bytes(32);
  std::iota(bytes.begin(), bytes.end(), 0);
  return bytes;
}

TEST(the_examples_of_rfc_3720) {
  CHECK_EQ(crc_of(std::vector<uint8_t>(32, 0)), 0x8a9136aau);
  CHECK_EQ(crc_of(std::vector<uint8_t>(32, 255)), 0x62a8ab43u);
  CHECK_EQ(crc_of(rising()), 0x46dd794eu);
}

TEST(the_usual_check_value) { CHECK_EQ(crc32c("123456789", 9), 0xe3069283u); }

TEST(nothing) { CHECK_EQ(crc32c(nullptr, 0), 0u); }

TEST(any_cut_into_two_gives_the_same) {
  const std::vector<uint8_t> bytes = rising();
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t first = crc32c(bytes.data(), cut);
    CHECK_EQ(crc32c(bytes.data() + cut, bytes.size() - cut, first), crc_of(bytes));
  }
}

// By the definition: a bit at a time.
uint32_t bitwise(const std::vector<uint8_t>& bytes) {
  uint32_t crc = ~0u;
  for (uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

TEST(long_bytes_too) {
  std::vector<uint8_t> bytes;
  uint32_t state = 1;
  for (size_t size : {12'287, 12'288, 12'289, 24'576, 100'003}) {
    while (bytes.size() < size) {
      state = state * 1664525 + 1013904223;
      bytes.push_back(static_cast<uint8_t>(state >> 24));
    }
    CHECK_EQ(crc_of(bytes), bitwise(bytes));
    const size_t cut = size / 3;
    CHECK_EQ(crc32c(bytes.data() + cut, size - cut, crc32c(bytes.data(), cut)), bitwise(bytes));
  }
}

}  // namespace
}  // namespace qanat
