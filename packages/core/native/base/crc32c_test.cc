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

}  // namespace
}  // namespace qanat
