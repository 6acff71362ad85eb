#include "packages/core/native/testing/check.h"

#include <limits>

namespace qanat {
namespace {

enum class Colour { kRed, kGreen };

TEST(equal_values_pass) {
  CHECK(true);
  CHECK_EQ(2 + 2, 4);
  CHECK_EQ(std::string("a"), "a");
  CHECK_EQ(Colour::kRed, Colour::kRed);
}

TEST(near_values_pass) {
  CHECK_NEAR(1.0f, 1.0 + 1e-9, 1e-8);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK_NEAR(infinity, infinity, 0);
  CHECK_NEAR(std::nan(""), std::nan(""), 0);
}

TEST(a_failure_shows_its_values) {
  CHECK_EQ(testing::show(0.5), "0.5");
  CHECK_EQ(testing::show(Colour::kGreen), "1");
}

}  // namespace
}  // namespace qanat
