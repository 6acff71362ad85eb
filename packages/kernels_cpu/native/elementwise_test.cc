#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// The index into an operand of that shape for a flat index into the common shape.
int64_t operand_index(const Shape& common, const Shape& operand, int64_t flat) {
  int64_t index = 0, stride = 1;
  for (int axis = common.rank() - 1; axis >= 0; --axis) {
    const int64_t at = flat % common[axis];
    flat /= common[axis];
    const int in_operand = axis - (common.rank() - operand.rank());
    if (in_operand < 0) continue;
    if (operand[in_operand] != 1) index += at * stride;
    stride *= operand[in_operand];
  }
  return index;
}

Tensor random_floats(std::mt19937& random, const Shape& shape) {
  Tensor made(DType::kFloat32, shape);
  for (int64_t i = 0; i < made.size(); ++i) {
    made.data<float>()[i] = static_cast<float>(random() % 2001) / 100 - 10;
  }
  return made;
}

// A shape that broadcasts to `common`: some dimensions are 1, some leading ones are missing.
Shape random_operand(std::mt19937& random, const Shape& common) {
  Shape shape;
  const int missing = common.rank() == 0 ? 0 : static_cast<int>(random() % (common.rank() + 1)) / 2;
  for (int axis = missing; axis < common.rank(); ++axis) {
    shape.add(random() % 3 == 0 ? 1 : common[axis]);
  }
  return shape;
}

TEST(broadcasts_as_the_naive_loop_does) {
  std::mt19937 random(1);
  const int64_t dims[] = {1, 2, 3, 7, 33, 40, 129};
  for (int trial = 0; trial < 400; ++trial) {
    Shape drawn;
    const int rank = static_cast<int>(random() % 5);
    for (int i = 0; i < rank; ++i) drawn.add(dims[random() % (rank > 3 ? 5 : 7)]);
    const Tensor a = random_floats(random, random_operand(random, drawn));
    const Tensor b = random_floats(random, random_operand(random, drawn));
    Shape common;
    const int common_rank = std::max(a.shape().rank(), b.shape().rank());
    for (int i = 0; i < common_rank; ++i) {
      const int in_a = i - (common_rank - a.shape().rank());
      const int in_b = i - (common_rank - b.shape().rank());
      common.add(std::max(in_a < 0 ? 1 : a.shape()[in_a], in_b < 0 ? 1 : b.shape()[in_b]));
    }
    const Result result = run("Sub", {a, b});
    CHECK(result.ok());
    CHECK(result.outputs[0].shape() == common);
    for (int64_t i = 0; i < common.num_elements(); ++i) {
      const float want = a.data<float>()[operand_index(common, a.shape(), i)] -
                         b.data<float>()[operand_index(common, b.shape(), i)];
      CHECK_EQ(result.outputs[0].data<float>()[i], want);
    }
  }
}

TEST(large_operands_are_split_into_chunks) {
  std::mt19937 random(2);
  for (const Shape& shape : {Shape({70001}), Shape({7001, 10}), Shape({10, 7001})}) {
    const Tensor a = random_floats(random, shape);
    const Tensor row = random_floats(random, Shape({shape[shape.rank() - 1]}));
    const Result result = run("Add", {a, row});
    CHECK(result.ok());
    for (int64_t i = 0; i < a.size(); ++i) {
      CHECK_EQ(result.outputs[0].data<float>()[i],
               a.data<float>()[i] + row.data<float>()[i % row.size()]);
    }
  }
}

TEST(shapes_that_do_not_broadcast_are_named) {
  const Result result = run("Add", {Tensor(DType::kFloat32, {2, 3}), Tensor(DType::kFloat32, {4})});
  CHECK(result.code == StatusCode::kInvalidArgument);
  CHECK(result.says("[2,3] and [4]"));
  CHECK(run("Add", {Tensor(DType::kFloat32, {0, 3}), Tensor(DType::kFloat32, {1, 1})}).ok());
  CHECK(!run("ReluGrad", {Tensor(DType::kFloat32, {2}), Tensor(DType::kFloat32, {1})}).ok());
}

TEST(a_buffer_that_nobody_holds_is_written_in_place) {
  std::vector<Tensor> inputs;
  inputs.push_back(tensor<float>({1, 2, 3}, {3}));
  inputs.push_back(scalar<float>(1));
  const float* memory = inputs[0].data<float>();
  const Result result = run("Add", std::move(inputs));
  CHECK(result.outputs[0].data<float>() == memory);
  CHECK(result.outputs[0].values<float>() == (std::vector<float>{2, 3, 4}));
}

TEST(integers_wrap_and_never_trap) {
  const int32_t least = std::numeric_limits<int32_t>::min();
  const int64_t least64 = std::numeric_limits<int64_t>::min();
  CHECK_EQ(run("Sub", {scalar(least), scalar(1)}).outputs[0].data<int32_t>()[0], INT32_MAX);
  CHECK_EQ(run("Neg", {scalar(least)}).outputs[0].data<int32_t>()[0], least);
  CHECK_EQ(run("Abs", {scalar(least64)}).outputs[0].data<int64_t>()[0], least64);
  CHECK_EQ(run("Div", {scalar(least), scalar(-1)}).outputs[0].data<int32_t>()[0], least);
  CHECK_EQ(run("FloorDiv", {scalar(least64), scalar(int64_t{-1})}).outputs[0].data<int64_t>()[0],
           least64);
  CHECK_EQ(run("FloorMod", {scalar(least), scalar(-1)}).outputs[0].data<int32_t>()[0], 0);
  CHECK_EQ(
      run("Mul", {scalar(uint16_t{65535}), scalar(uint16_t{65535})}).outputs[0].data<uint16_t>()[0],
      1);
  CHECK_EQ(run("Pow", {scalar(int64_t{3}), scalar(int64_t{41})}).outputs[0].data<int64_t>()[0],
           static_cast<int64_t>(18026252303461234787u));
}

TEST(integer_divisors_of_zero_are_refused_with_their_position) {
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"}) {
    const Result result = run(op, {vector<int32_t>({1, 2, 3}), vector<int32_t>({1, 0, 3})});
    CHECK(result.code == StatusCode::kInvalidArgument);
    CHECK(result.says("position 1"));
    CHECK(!run(op, {scalar(1), scalar(0)}).ok());
    CHECK(run(op, {Tensor(DType::kInt32, {0, 2}), vector<int32_t>({0, 0})}).ok());
  }
  CHECK(run("Pow", {scalar(2), scalar(-1)}).says("exponents >= 0"));
}

TEST(division_rounds_as_python_does) {
  for (int a = -7; a <= 7; ++a) {
    for (int b : {-3, -2, -1, 1, 2, 3}) {
      const int quotient = run("FloorDiv", {scalar(a), scalar(b)}).outputs[0].data<int32_t>()[0];
      const int rest = run("FloorMod", {scalar(a), scalar(b)}).outputs[0].data<int32_t>()[0];
      CHECK_EQ(quotient, static_cast<int>(std::floor(static_cast<double>(a) / b)));
      CHECK_EQ(quotient * b + rest, a);
      const float float_rest =
          run("FloorMod", {scalar<float>(a), scalar<float>(b)}).outputs[0].data<float>()[0];
      CHECK_EQ(float_rest, static_cast<float>(rest));
    }
  }
}

TEST(nan_propagates_through_maximum_and_relu) {
  const Tensor x = vector<float>({kNan, 1, kNan, 2});
  const Tensor y = vector<float>({1, kNan, kNan, 3});
  for (const char* op : {"Maximum", "Minimum"}) {
    const Result result = run(op, {x, y});
    for (int i = 0; i < 3; ++i) CHECK(std::isnan(result.outputs[0].data<float>()[i]));
  }
  for (const char* op : {"Relu", "Relu6", "Elu", "Softplus", "LeakyRelu"}) {
    const Result result = run(op, {vector<float>({kNan, -kInf, kInf})}, {{"alpha", 0.5}});
    CHECK(result.ok());
    CHECK(std::isnan(result.outputs[0].data<float>()[0]));
  }
}

TEST(unbounded_derivatives_give_zero_for_a_zero_gradient) {
  for (const char* op : {"SqrtGrad", "RsqrtGrad", "ReciprocalGrad"}) {
    const Result result = run(op, {vector<float>({0, kInf, 2}), vector<float>({0, 0, 1})});
    CHECK_EQ(result.outputs[0].data<float>()[0], 0.0f);
    CHECK_EQ(result.outputs[0].data<float>()[1], 0.0f);
    CHECK(result.outputs[0].data<float>()[2] != 0.0f);
  }
}

TEST(unary_functions_agree_with_the_c_library) {
  const std::pair<const char*, double (*)(double)> functions[] = {
      {"Exp", std::exp},
      {"Log", std::log},
      {"Tanh", std::tanh},
      {"Sqrt", std::sqrt},
      {"Sin", std::sin},
      {"Cos", std::cos},
      {"Erf", std::erf},
      {"Expm1", std::expm1},
      {"Log1p", std::log1p},
      {"Floor", std::floor},
      {"Ceil", std::ceil},
      {"Round", std::nearbyint},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(-std::fabs(x))) + std::fmax(x, 0); }},
  };
  std::vector<float> values = {0,    -0.0f, 1,   -1,   0.5f,  -0.5f, 1.5f,
                               2.5f, 80,    -80, kInf, -kInf, kNan,  1e-6f};
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i) * 0.037f - 18);
  const Tensor x = tensor<float>(values, {static_cast<int64_t>(values.size())});
  for (const auto& [op, function] : functions) {
    const Result result = run(op, {x});
    CHECK(result.ok());
    for (size_t i = 0; i < values.size(); ++i) {
      const double want = static_cast<float>(function(values[i]));
      CHECK_NEAR(result.outputs[0].data<float>()[i], want, 4e-7 * std::fmax(std::fabs(want), 1e-3));
    }
  }
}

TEST(halves_are_computed_in_float32) {
  std::mt19937 random(3);
  Tensor a(DType::kFloat16, {3, 300}), b(DType::kFloat16, {300}), c(DType::kBFloat16, {5});
  for (int64_t i = 0; i < a.size(); ++i) a.data<Float16>()[i] = Float16(random() % 64 * 0.25f);
  for (int64_t i = 0; i < b.size(); ++i) b.data<Float16>()[i] = Float16(random() % 64 * 0.25f);
  const Result sum = run("Add", {a, b});
  const Result less = run("Less", {a, b}, {}, {DType::kBool});
  for (int64_t i = 0; i < a.size(); ++i) {
    const float x = static_cast<float>(a.data<Float16>()[i]);
    const float y = static_cast<float>(b.data<Float16>()[i % 300]);
    CHECK_EQ(static_cast<float>(sum.outputs[0].data<Float16>()[i]), x + y);
    CHECK_EQ(less.outputs[0].data<bool>()[i], x < y);
  }
  CHECK_EQ(static_cast<float>(run("Exp", {c}).outputs[0].data<BFloat16>()[4]), 1.0f);
}

TEST(strings_and_complex_numbers_compare) {
  const Tensor words = tensor<Bytes>({Bytes("a"), Bytes(""), Bytes("b")}, {3});
  const Tensor word = tensor<Bytes>({Bytes("b")}, Shape());
  const Result equal = run("Equal", {words, word}, {}, {DType::kBool});
  CHECK(equal.outputs[0].values<bool>() == (std::vector<bool>{false, false, true}));
  const Tensor grid = tensor<Bytes>({Bytes("a"), Bytes("b")}, {2, 1});
  const Result differ = run("NotEqual", {grid, words}, {}, {DType::kBool});
  CHECK(differ.outputs[0].values<bool>() ==
        (std::vector<bool>{false, true, true, true, true, false}));
  const Tensor z = tensor<std::complex<double>>({{1, 2}, {1, -2}}, {2});
  CHECK(run("Equal", {z, z}, {}, {DType::kBool}).outputs[0].data<bool>()[1]);
}

TEST(add_n_adds_in_order_and_checks_shapes) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 5; ++i) inputs.push_back(tensor<float>({1.0f * i, 10.0f * i}, {2}));
  CHECK(run("AddN", inputs).outputs[0].values<float>() == (std::vector<float>{10, 100}));
  CHECK(run("AddN", std::move(inputs)).outputs[0].values<float>() == (std::vector<float>{10, 100}));
  CHECK(!run("AddN", {scalar(1.0f), vector<float>({1})}).ok());
}

template <typename To, typename From>
To cast(From value) {
  const Result result = run("Cast", {scalar(value)}, {}, {dtype_of<To>});
  CHECK(result.ok());
  return result.outputs[0].data<To>()[0];
}

TEST(casts_saturate_and_turn_nan_into_zero) {
  CHECK_EQ((cast<int32_t, float>(3e9f)), INT32_MAX);
  CHECK_EQ((cast<int32_t, float>(-3e9f)), INT32_MIN);
  CHECK_EQ((cast<int64_t, double>(1e300)), INT64_MAX);
  CHECK_EQ((cast<int64_t, double>(-kInf)), INT64_MIN);
  CHECK_EQ((cast<int32_t, float>(kNan)), 0);
  CHECK_EQ((cast<uint8_t, float>(-0.5f)), 0);
  CHECK_EQ((cast<uint8_t, float>(-5)), 0);
  CHECK_EQ((cast<uint8_t, double>(255.9)), 255);
  CHECK_EQ((cast<int8_t, Float16>(Float16(-1.75f))), -1);
  CHECK_EQ((cast<int32_t, float>(-2.9f)), -2);
  CHECK_EQ((cast<uint8_t, int32_t>(257)), 1);
  CHECK_EQ((cast<bool, float>(kNan)), true);
  CHECK_EQ((cast<bool, std::complex<float>>({0, 1})), true);
  CHECK_EQ((cast<float, std::complex<double>>({2, 1})), 2.0f);
  CHECK_EQ(static_cast<float>(cast<BFloat16, int32_t>(3)), 3.0f);
}

TEST(select_takes_elements_rows_or_a_whole) {
  const Tensor t = tensor<int32_t>({1, 2, 3, 4}, {2, 2}), e = tensor<int32_t>({5, 6, 7, 8}, {2, 2});
  const auto values = [&](const Tensor& condition) {
    return run("Select", {condition, t, e}, {}, {DType::kInt32}).outputs[0].values<int32_t>();
  };
  CHECK(values(scalar(true)) == (std::vector<int32_t>{1, 2, 3, 4}));
  CHECK(values(vector<bool>({false, true})) == (std::vector<int32_t>{5, 6, 3, 4}));
  CHECK(values(tensor<bool>({true, false, false, true}, {2, 2})) ==
        (std::vector<int32_t>{1, 6, 7, 4}));
  CHECK(!run("Select", {vector<bool>({true, true, true}), t, e}, {}, {DType::kInt32}).ok());
}

}  // namespace
}  // namespace qanat::testing
