#include <cmath>
#include <limits>
#include <random>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Result reduce(const char* op, const Tensor& x, const std::vector<int32_t>& axes,
              bool keep_dims = false) {
  return run(op, {x, tensor<int32_t>(axes, {static_cast<int64_t>(axes.size())})},
             {{"keep_dims", keep_dims}});
}

TEST(any_set_of_axes_agrees_with_the_naive_sum) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = static_cast<int>(random() % 6);
    Shape shape, kept;
    std::vector<int32_t> axes;
    uint32_t reduced = 0;
    for (int i = 0; i < rank; ++i) {
      shape.add(1 + random() % 4);
      if (random() % 2 == 0) {
        axes.push_back(random() % 2 == 0 ? i : i - rank);
        reduced |= 1u << i;
      }
      kept.add((reduced >> i & 1) != 0 ? 1 : shape[i]);
    }
    Tensor x(DType::kInt64, shape);
    for (int64_t i = 0; i < x.size(); ++i)
      x.data<int64_t>()[i] = static_cast<int64_t>(random() % 100);
    Tensor want(DType::kInt64, kept);
    for (int64_t flat = 0; flat < x.size(); ++flat) {
      int64_t rest = flat, at = 0, stride = 1;
      for (int i = rank - 1; i >= 0; --i) {
        if ((reduced >> i & 1) == 0) at += rest % shape[i] * stride;
        stride *= kept[i];
        rest /= shape[i];
      }
      want.data<int64_t>()[at] += x.data<int64_t>()[flat];
    }
    const Result sum = reduce("Sum", x, axes, true);
    CHECK_EQ(sum.message, std::string());
    CHECK(sum.outputs[0].shape() == kept);
    CHECK(sum.outputs[0].values<int64_t>() == want.values<int64_t>());
    const Result dropped = reduce("Sum", x, axes);
    CHECK_EQ(dropped.outputs[0].shape().rank(), rank - static_cast<int>(axes.size()));
    CHECK(dropped.outputs[0].values<int64_t>() == want.values<int64_t>());
  }
}

TEST(empty_axes_give_identities) {
  const Tensor none(DType::kFloat32, {2, 0});
  const auto first = [&](const char* op) {
    return reduce(op, none, {1}).outputs[0].data<float>()[1];
  };
  CHECK_EQ(first("Sum"), 0.0f);
  CHECK_EQ(first("Prod"), 1.0f);
  CHECK_EQ(first("Max"), -kInf);
  CHECK_EQ(first("Min"), kInf);
  CHECK(std::isnan(first("Mean")));
  const Tensor ints(DType::kInt8, {0});
  CHECK_EQ(reduce("Max", ints, {0}).outputs[0].data<int8_t>()[0], -128);
  CHECK_EQ(reduce("Min", ints, {0}).outputs[0].data<int8_t>()[0], 127);
  CHECK(reduce("All", Tensor(DType::kBool, {0}), {0}).outputs[0].data<bool>()[0]);
  CHECK(!reduce("Any", Tensor(DType::kBool, {0}), {0}).outputs[0].data<bool>()[0]);
  CHECK_EQ(reduce("Sum", none, {0}).outputs[0].size(), 0);
}

TEST(nan_propagates_and_axes_are_checked) {
  const Tensor x = tensor<float>({1, kNan, 3, 4}, {2, 2});
  for (const char* op : {"Max", "Min", "Sum", "Mean", "Prod"}) {
    CHECK(std::isnan(reduce(op, x, {1}).outputs[0].data<float>()[0]));
    CHECK(!std::isnan(reduce(op, x, {1}).outputs[0].data<float>()[1]));
    CHECK(!reduce(op, x, {2}).ok());
    CHECK(!reduce(op, x, {0, -2}).ok());
  }
}

TEST(other_types_are_reduced_through_wider_ones) {
  CHECK_EQ(reduce("Sum", vector<uint8_t>({200, 100}), {0}).outputs[0].data<uint8_t>()[0], 44);
  const uint64_t large = uint64_t{1} << 63;
  const Tensor unsigned_values = vector<uint64_t>({large, 1, large + 5});
  CHECK_EQ(reduce("Max", unsigned_values, {0}).outputs[0].data<uint64_t>()[0], large + 5);
  CHECK_EQ(reduce("Min", unsigned_values, {0}).outputs[0].data<uint64_t>()[0], uint64_t{1});
  CHECK_EQ(reduce("Sum", unsigned_values, {0}).outputs[0].data<uint64_t>()[0], uint64_t{6});
  std::vector<Float16> halves(4096, Float16(1));
  CHECK_EQ(static_cast<float>(
               reduce("Sum", tensor<Float16>(halves, {4096}), {0}).outputs[0].data<Float16>()[0]),
           4096.0f);
}

TEST(all_and_any) {
  const Tensor x = tensor<bool>({true, false, true, true, true, true}, {2, 1, 3});
  CHECK(reduce("All", x, {2}).outputs[0].values<bool>() == (std::vector<bool>{false, true}));
  CHECK(reduce("All", x, {0}).outputs[0].values<bool>() == (std::vector<bool>{true, false, true}));
  CHECK(reduce("Any", x, {0, 2}).outputs[0].values<bool>() == (std::vector<bool>{true}));
}

TEST(the_first_extreme_wins) {
  const auto arg = [](const char* op, const Tensor& x, int32_t axis) {
    return run(op, {x, scalar(axis)}, {}, {DType::kInt64});
  };
  const Tensor x = tensor<float>({1, 3, 3, kNan, 0, kNan}, {2, 3});
  CHECK(arg("ArgMax", x, 1).outputs[0].values<int64_t>() == (Ints{1, 0}));
  CHECK(arg("ArgMin", x, -1).outputs[0].values<int64_t>() == (Ints{0, 0}));
  CHECK(arg("ArgMax", x, 0).outputs[0].values<int64_t>() == (Ints{1, 0, 1}));
  CHECK(!arg("ArgMax", x, 2).ok());
  CHECK(!arg("ArgMax", Tensor(DType::kFloat32, {2, 0}), 1).ok());
  CHECK_EQ(arg("ArgMax", Tensor(DType::kFloat32, {0, 2}), 1).outputs[0].size(), 0);
  std::vector<int32_t> wide(3 * 200);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<int32_t>((i * 7919) % 601);
  const Result columns = arg("ArgMin", tensor<int32_t>(wide, {3, 200}), 0);
  for (size_t c = 0; c < 200; ++c) {
    int64_t want = 0;
    for (size_t r = 1; r < 3; ++r) {
      if (wide[r * 200 + c] < wide[static_cast<size_t>(want) * 200 + c])
        want = static_cast<int64_t>(r);
    }
    CHECK_EQ(columns.outputs[0].data<int64_t>()[c], want);
  }
}

}  // namespace
}  // namespace qanat::testing
