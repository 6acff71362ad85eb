// Variables, random numbers and assertions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/philox.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

Tensor handle(const std::string& name) {
  const Attrs attrs = {
      {"container", std::string("state_test")}, {"shared_name", name}, {"dtype", DType::kFloat32}};
  return run("VarHandleOp", {}, attrs, {DType::kResource}).outputs[0];
}

const std::vector<DType> kFloat = {DType::kFloat32};

TEST(variables_are_assigned_updated_and_read) {
  const Tensor v = handle("v");
  CHECK(!run("VarIsInitializedOp", {v}, {}, {DType::kBool}).outputs[0].data<bool>()[0]);
  CHECK(run("ReadVariableOp", {v}, {}, kFloat).code == StatusCode::kFailedPrecondition);
  CHECK(!run("AssignAddVariableOp", {v, vector<float>({1, 2})}, {}, {}).ok());
  CHECK(run("AssignVariableOp", {v, vector<float>({1, 2})}, {}, {}).ok());
  CHECK(run("VarIsInitializedOp", {v}, {}, {DType::kBool}).outputs[0].data<bool>()[0]);
  const Result before = run("ReadVariableOp", {v}, {}, kFloat);
  CHECK(run("AssignAddVariableOp", {v, vector<float>({10, 20})}, {}, {}).ok());
  CHECK(run("AssignSubVariableOp", {v, vector<float>({1, 1})}, {}, {}).ok());
  CHECK(before.outputs[0].values<float>() == (std::vector<float>{1, 2}));
  CHECK(run("ReadVariableOp", {v}, {}, kFloat).outputs[0].values<float>() ==
        (std::vector<float>{10, 21}));
  const Result bad = run("AssignAddVariableOp", {v, vector<float>({1})}, {}, {});
  CHECK(bad.code == StatusCode::kInvalidArgument);
  CHECK(bad.says("[2]") && bad.says("[1]"));
}

TEST(philox_gives_the_published_numbers) {
  // The known answers of the generator's authors (Random123, philox4x32 10).
  using kernels_cpu::PhiloxStream;
  uint32_t words[kernels_cpu::kRandomTileWords];
  kernels_cpu::random_words(PhiloxStream{0, 0}, 0, words);
  const std::vector<uint32_t> zeros = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  CHECK(std::equal(zeros.begin(), zeros.end(), words));
  kernels_cpu::random_words(PhiloxStream{~uint64_t{0}, ~uint64_t{0}}, ~uint64_t{0}, words);
  const std::vector<uint32_t> ones = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  CHECK(std::equal(ones.begin(), ones.end(), words));
  kernels_cpu::random_words(PhiloxStream{0x299f31d0a4093822, 0x0370734413198a2e},
                            0x85a308d3243f6a88, words);
  const std::vector<uint32_t> pi = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CHECK(std::equal(pi.begin(), pi.end(), words));
}

Attrs seeds(int64_t seed, int64_t seed2) { return {{"seed", seed}, {"seed2", seed2}}; }

Node* random_node(const char* op, const std::vector<DType>& inputs, DType output,
                  const Attrs& attrs) {
  std::vector<DType> known = inputs;
  known.push_back(output);
  return new Node(*registry().find(op, {output}), inputs, {output}, attrs);
}

TEST(equal_seeds_give_equal_numbers_and_steps_differ) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    const Tensor shape = vector<int32_t>({1000});
    const std::unique_ptr<Node> a(random_node(op, {DType::kInt32}, DType::kFloat32, seeds(1, 2)));
    const std::unique_ptr<Node> b(random_node(op, {DType::kInt32}, DType::kFloat32, seeds(1, 2)));
    const std::unique_ptr<Node> c(random_node(op, {DType::kInt32}, DType::kFloat32, seeds(1, 3)));
    const auto first = a->run({shape}).outputs[0].values<float>();
    CHECK(first == b->run({shape}).outputs[0].values<float>());
    CHECK(first != a->run({shape}).outputs[0].values<float>());
    CHECK(first != c->run({shape}).outputs[0].values<float>());
    const std::unique_ptr<Node> u(random_node(op, {DType::kInt32}, DType::kFloat32, seeds(0, 0)));
    const std::unique_ptr<Node> w(random_node(op, {DType::kInt32}, DType::kFloat32, seeds(0, 0)));
    CHECK(u->run({shape}).outputs[0].values<float>() != w->run({shape}).outputs[0].values<float>());
  }
}

// Mean and variance of 200,000 numbers.
std::pair<double, double> moments(const char* op, DType dtype) {
  const std::unique_ptr<Node> node(random_node(op, {DType::kInt32}, dtype, seeds(5, 6)));
  const Result drawn = node->run({vector<int32_t>({200, 1000})});
  CHECK(drawn.ok());
  const Tensor numbers = run("Cast", {drawn.outputs[0]}, {}, {DType::kFloat64}).outputs[0];
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers.data<double>()[i];
    if (std::string(op) == "RandomUniform") CHECK(x >= 0 && x < 1);
    if (std::string(op) == "TruncatedNormal") CHECK(std::fabs(x) <= 2);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / static_cast<double>(numbers.size());
  return {mean, squares / static_cast<double>(numbers.size()) - mean * mean};
}

TEST(distributions_have_their_moments) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16}) {
    const auto [uniform_mean, uniform_variance] = moments("RandomUniform", dtype);
    CHECK_NEAR(uniform_mean, 0.5, 0.004);
    CHECK_NEAR(uniform_variance, 1.0 / 12, 0.002);
    const auto [normal_mean, normal_variance] = moments("RandomStandardNormal", dtype);
    CHECK_NEAR(normal_mean, 0, 0.01);
    CHECK_NEAR(normal_variance, 1, 0.02);
    const auto [truncated_mean, truncated_variance] = moments("TruncatedNormal", dtype);
    CHECK_NEAR(truncated_mean, 0, 0.01);
    CHECK_NEAR(truncated_variance, 0.774, 0.02);
  }
}

TEST(random_integers_fill_their_range) {
  const auto draw = [](int64_t low, int64_t high) {
    const Attrs attrs = {{"seed", int64_t{1}}, {"seed2", int64_t{1}}, {"Tout", DType::kInt64}};
    return run("RandomUniformInt", {vector<int32_t>({2000}), scalar(low), scalar(high)}, attrs,
               {DType::kInt64});
  };
  const auto dice = draw(-2, 4).outputs[0].values<int64_t>();
  for (int64_t face = -2; face < 4; ++face) {
    CHECK(std::count(dice.begin(), dice.end(), face) > 250);
  }
  CHECK_EQ(std::count_if(dice.begin(), dice.end(), [](int64_t x) { return x < -2 || x > 3; }), 0);
  const auto wide = draw(INT64_MIN, INT64_MAX).outputs[0].values<int64_t>();
  CHECK(std::count_if(wide.begin(), wide.end(), [](int64_t x) { return x < 0; }) > 800);
  CHECK(!draw(3, 3).ok());
}

TEST(shuffles_are_permutations_of_rows) {
  std::vector<int32_t> rows(2 * 1000);
  std::iota(rows.begin(), rows.end(), 0);
  const Tensor x = tensor<int32_t>(rows, {1000, 2});
  const Result shuffled = run("RandomShuffle", {x}, seeds(1, 1));
  std::vector<int32_t> got = shuffled.outputs[0].values<int32_t>();
  CHECK(got != rows);
  for (size_t i = 0; i < got.size(); i += 2) CHECK_EQ(got[i] + 1, got[i + 1]);
  std::sort(got.begin(), got.end());
  CHECK(got == rows);
}

TEST(assertions_show_their_data) {
  const Attrs attrs = {{"summarize", int64_t{2}}};
  CHECK(run("Assert", {scalar(true), scalar(1)}, attrs, {}).ok());
  const Result failed =
      run("Assert", {scalar(false), vector<int32_t>({7, 8, 9}), tensor<Bytes>({Bytes("why")}, {})},
          attrs, {});
  CHECK(failed.code == StatusCode::kInvalidArgument);
  CHECK(failed.says("[7 8...] [why]"));
  CHECK(!run("Assert", {vector<bool>({true})}, attrs, {}).ok());
  const std::string long_text(5000, 'x');
  CHECK(!run("Assert", {scalar(false), tensor<Bytes>({Bytes(long_text)}, {})},
             {{"summarize", int64_t{-1}}}, {})
             .ok());
}

}  // namespace
}  // namespace qanat::testing
