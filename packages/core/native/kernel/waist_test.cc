// The value types of the waist: half floats, strings and shapes.
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "packages/core/native/kernel/kernel.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

float through_half(float value) { return static_cast<float>(Float16(value)); }
float through_bfloat(float value) { return static_cast<float>(BFloat16(value)); }

TEST(every_finite_half_survives_a_round_trip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = Float16::decode(half);
    if (std::isnan(value)) {
      CHECK(std::isnan(through_half(value)));
    } else {
      CHECK_EQ(Float16::encode(value), half);
    }
  }
}

TEST(half_rounds_to_nearest_even) {
  CHECK_EQ(through_half(2049.0f), 2048.0f);  // halfway between 2048 and 2050
  CHECK_EQ(through_half(2051.0f), 2052.0f);
  CHECK_EQ(through_half(65519.0f), 65504.0f);
  CHECK(std::isinf(through_half(65520.0f)));
  CHECK_EQ(through_half(0x1p-25f), 0.0f);
  CHECK_EQ(through_half(0x1.8p-24f), 0x1p-23f);
  CHECK(std::signbit(through_half(-0.0f)));
}

TEST(bfloat_keeps_the_range_and_rounds_to_nearest_even) {
  CHECK_EQ(through_bfloat(1.0f + 0x1p-8f), 1.0f);
  CHECK_EQ(through_bfloat(1.0f + 0x1.8p-7f), 1.0f + 0x1p-6f);
  CHECK_EQ(through_bfloat(-3.0e38f), static_cast<float>(BFloat16(-3.0e38f)));
  CHECK(std::isinf(through_bfloat(std::numeric_limits<float>::max())));
  CHECK(std::isnan(through_bfloat(std::numeric_limits<float>::quiet_NaN())));
}

TEST(shape_refuses_what_would_overflow) {
  Shape shape;
  CHECK(shape.add(int64_t{1} << 40));
  CHECK(shape.add(int64_t{1} << 22));
  CHECK(!shape.add(4));
  CHECK(!shape.add(-1));
  CHECK_EQ(shape.rank(), 2);
  CHECK_EQ(shape.num_elements(), int64_t{1} << 62);
  Shape deep;
  for (int i = 0; i < kMaxRank; ++i) CHECK(deep.add(1));
  CHECK(!deep.add(1));
}

TEST(shape_equality_sees_rank_and_dimensions) {
  CHECK((Shape{2, 3} == Shape{2, 3}));
  CHECK(!(Shape{2, 3} == Shape{3, 2}));
  CHECK(!(Shape{} == Shape{1}));
  CHECK_EQ((Shape{0, 5}.num_elements()), 0);
}

TEST(bytes_own_any_bytes) {
  Bytes first(std::string_view("a\0b", 3));
  Bytes copy = first;
  Bytes moved = std::move(first);
  CHECK(copy == moved);
  CHECK_EQ(copy.size(), size_t{3});
  copy.assign("");
  CHECK_EQ(copy.size(), size_t{0});
  CHECK(!(copy == moved));
}

TEST(dtype_tables_agree) {
  CHECK_EQ(dtype_size(DType::kComplex128), size_t{16});
  CHECK_EQ(dtype_size(static_cast<DType>(99)), size_t{0});
  CHECK(dtype_of<int64_t> == DType::kInt64);
  CHECK(!is_plain(DType::kString));
}

}  // namespace
}  // namespace qanat
