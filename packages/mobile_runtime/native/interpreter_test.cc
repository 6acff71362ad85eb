// Models run through the C interface: results, memory, and what it refuses.
#include <cmath>
#include <cstring>
#include <tuple>

#include "packages/core/native/kernel/registry.h"
#include "packages/core/native/testing/check.h"
#include "packages/mobile_runtime/native/qanat_model.h"
#include "packages/mobile_runtime/native/test_model.h"

extern "C" void qanat_register_kernels(qanat::KernelRegistry* registry);

namespace qanat::mobile {
namespace {

using testing::bool_attr;
using testing::Image;
using testing::ModelBuilder;
using testing::string_attr;
using testing::type_attr;

constexpr int32_t code(StatusCode status) { return static_cast<int32_t>(status); }

// A model, or why there is none.
class Opened {
 public:
  explicit Opened(const std::string& bytes, size_t memory_limit = 0,
                  QanatRegisterKernels kernels = qanat_register_kernels)
      : image_(bytes) {
    const QanatModelOptions options = {&kernels, 1, memory_limit, listen, this};
    code_ = qanat_model_open(image_.data(), image_.size(), &options, &model_, message_);
    CHECK_EQ(code_ == 0, model_ != nullptr);
  }
  ~Opened() { qanat_model_close(model_); }

  QanatModel* get() const { return model_; }
  int32_t code() const { return code_; }
  bool says(const char* words) const { return std::strstr(message_, words) != nullptr; }

  int32_t run() { return qanat_model_run(model_, message_); }
  std::vector<float> output(size_t count) {
    std::vector<float> values(count);
    CHECK_EQ(qanat_model_get_output(model_, 0, values.data(), count * sizeof(float), message_), 0);
    return values;
  }

  // (node, output, input), as the kernels told.
  std::vector<std::tuple<uint32_t, uint32_t, uint32_t>> sharing;

 private:
  static void listen(void* self, uint32_t node, uint32_t output, uint32_t input) {
    static_cast<Opened*>(self)->sharing.emplace_back(node, output, input);
  }

  Image image_;
  QanatModel* model_ = nullptr;
  int32_t code_ = 0;
  char message_[QANAT_MESSAGE_BYTES] = {};
};

TEST(a_model_computes_what_its_nodes_say) {
  Opened model(testing::small_classifier());
  CHECK_EQ(model.code(), 0);
  const float x[6] = {1, 2, 3, -1, 0, 1};  // rows: relu([4.5, -11]) and relu([0.5, -11])
  CHECK_EQ(qanat_model_set_input(model.get(), 0, x, sizeof(x), nullptr), 0);
  CHECK_EQ(model.run(), 0);
  const double sum = std::exp(4.5) + std::exp(0.5) + 2;
  const std::vector<float> p = model.output(4);
  CHECK_NEAR(p[0], std::exp(4.5) / sum, 1e-6);
  CHECK_NEAR(p[1], 1 / sum, 1e-6);
  CHECK_NEAR(p[2], std::exp(0.5) / sum, 1e-6);
}

TEST(a_program_of_pointwise_ops_runs) {
  Opened model(testing::small_program());
  CHECK_EQ(model.code(), 0);
  const float x[6] = {-1, 0.5f, -0.75f, 0, 1, -3};
  CHECK_EQ(qanat_model_set_input(model.get(), 0, x, sizeof(x), nullptr), 0);
  CHECK_EQ(model.run(), 0);
  const std::vector<float> z = model.output(6);
  for (size_t i = 0; i < 6; ++i) {
    CHECK_NEAR(z[i], std::tanh(2 * x[i] + static_cast<float>(i)), 1e-6);
  }
}

TEST(a_run_does_not_depend_on_the_runs_before) {
  Opened model(testing::small_lenet());
  std::vector<std::vector<float>> results;
  for (int round = 0; round < 3; ++round) {
    std::vector<float> image(64);
    for (size_t i = 0; i < image.size(); ++i) image[i] = round == 1 ? 9 : static_cast<float>(i);
    CHECK_EQ(qanat_model_set_input(model.get(), 0, image.data(), 256, nullptr), 0);
    CHECK_EQ(model.run(), 0);
    results.push_back(model.output(3));
  }
  CHECK(results[0] == results[2]);
  CHECK(results[0] != results[1]);
}

TEST(ports_are_described) {
  Opened model(testing::small_lenet());
  QanatTensor tensor;
  CHECK_EQ(qanat_model_num_inputs(model.get()), 1);
  CHECK_EQ(qanat_model_num_outputs(model.get()), 1);
  CHECK_EQ(qanat_model_input(model.get(), 0, &tensor), 0);
  CHECK_EQ(std::string(tensor.name), "images");
  CHECK_EQ(tensor.rank, 4);
  CHECK_EQ(tensor.dims[1], int64_t{8});
  CHECK_EQ(tensor.dtype, 1);
  CHECK_EQ(tensor.bytes, size_t{256});
  CHECK_EQ(qanat_model_output(model.get(), 1, &tensor), code(StatusCode::kInvalidArgument));
  CHECK_EQ(qanat_model_input(model.get(), -1, &tensor), code(StatusCode::kInvalidArgument));
  const int32_t wrong = qanat_model_set_input(model.get(), 0, "", 1, nullptr);
  CHECK_EQ(wrong, code(StatusCode::kInvalidArgument));
}

TEST(memory_is_told_and_limited) {
  Opened model(testing::small_lenet());
  QanatModelMemory memory;
  qanat_model_memory(model.get(), &memory);
  CHECK(memory.arena >= 256 + 1024 + 256 && memory.arena <= 2048);
  CHECK(memory.scratch > 0);
  CHECK(memory.heap >= memory.arena + memory.scratch);
  Opened enough(testing::small_lenet(), memory.heap + 4096);
  CHECK_EQ(enough.code(), 0);
  Opened little(testing::small_lenet(), memory.heap / 2);
  CHECK_EQ(little.code(), code(StatusCode::kResourceExhausted));
}

TEST(kernels_tell_what_may_share_memory) {
  Opened model(testing::small_classifier());
  CHECK_EQ(model.sharing.size(), size_t{2});
  CHECK(model.sharing[0] == std::make_tuple(1u, 0u, 0u));  // Reshape aliases
  CHECK(model.sharing[1] == std::make_tuple(2u, 0u, 0u));  // Softmax may reuse
}

TEST(an_alias_that_the_plan_does_not_share_is_copied) {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {4});
  const uint32_t shape = model.constant<int64_t>({2}, {2, 2});
  const uint32_t y = model.value(DType::kFloat32, {2, 2});
  model.node("Reshape", {x, shape}, {y}, {type_attr("T", DType::kFloat32)});
  model.input("x", x);
  model.output("y", y);
  Opened opened(model.build());
  const float values[4] = {1, 2, 3, 4};
  CHECK_EQ(qanat_model_set_input(opened.get(), 0, values, sizeof(values), nullptr), 0);
  CHECK_EQ(opened.run(), 0);
  CHECK(opened.output(4) == std::vector<float>({1, 2, 3, 4}));
}

// y = x·w with y at some place in the arena, x being the first 64 bytes.
int32_t product_at(uint64_t offset, const char* words) {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {4, 4});
  const uint32_t w = model.value(DType::kFloat32, {4, 4});
  const uint32_t y = model.value_at(DType::kFloat32, {4, 4}, offset);
  model.node("MatMul", {x, w}, {y},
             {type_attr("T", DType::kFloat32), bool_attr("transpose_a", false),
              bool_attr("transpose_b", false)});
  model.input("x", x);
  model.input("w", w);
  model.output("y", y);
  Opened opened(model.build());
  CHECK_EQ(opened.code() == 0, words == nullptr);
  CHECK(words == nullptr || opened.says(words));
  return opened.code();
}

TEST(an_output_inside_an_input_is_refused) {
  CHECK_EQ(product_at(128, nullptr), 0);
  CHECK_EQ(product_at(0, "beside input 0"), code(StatusCode::kInvalidArgument));
  CHECK_EQ(product_at(64, "beside input 1"), code(StatusCode::kInvalidArgument));
}

TEST(a_reused_input_has_to_be_met_exactly) {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {64});
  const uint32_t y = model.value_at(DType::kFloat32, {64}, 64);
  model.node("Softmax", {x}, {y}, {type_attr("T", DType::kFloat32)});
  model.input("x", x);
  model.output("y", y);
  Opened opened(model.build());
  CHECK_EQ(opened.code(), code(StatusCode::kInvalidArgument));
  CHECK(opened.says("[Softmax] expected output 0 beside input 0"));
  CHECK(opened.says("(node 'node0')"));
}

TEST(a_shape_other_than_planned_is_refused) {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {64});
  const uint32_t y = model.value(DType::kFloat32, {32});
  model.node("Softmax", {x}, {y}, {type_attr("T", DType::kFloat32)});
  model.input("x", x);
  model.output("y", y);
  Opened opened(model.build());
  CHECK(opened.says("expected output 0 of 32 elements in rank 1, got 64"));
}

TEST(values_are_made_once_and_in_order) {
  for (int wrong = 0; wrong < 4; ++wrong) {
    ModelBuilder model;
    const std::vector<testing::Attr> attrs = {type_attr("T", DType::kFloat32)};
    const uint32_t x = model.value(DType::kFloat32, {4});
    const uint32_t y = model.value(DType::kFloat32, {4});
    const uint32_t z = model.value(DType::kFloat32, {4});
    if (wrong == 0) model.node("Softmax", {z}, {y}, attrs);
    model.node("Softmax", {wrong == 1 ? y : x}, {wrong == 2 ? x : y}, attrs);
    if (wrong != 3) model.node("Softmax", {x}, {z}, attrs);
    model.input("x", x);
    model.output("z", z);
    Opened opened(model.build());
    CHECK_EQ(opened.code(), code(StatusCode::kDataLoss));
  }
}

TEST(a_kernel_that_is_missing_or_refuses_is_an_error) {
  ModelBuilder unknown;
  const uint32_t x = unknown.value(DType::kFloat32, {4});
  unknown.node("NoSuchOp", {}, {x}, {});
  Opened none(unknown.build());
  CHECK_EQ(none.code(), code(StatusCode::kUnimplemented));
  CHECK(none.says("[NoSuchOp] expected a kernel"));

  ModelBuilder other_type;
  const uint32_t i = other_type.value(DType::kInt8, {4});
  other_type.node("Softmax", {i}, {other_type.value(DType::kInt8, {4})},
                  {type_attr("T", DType::kInt8)});
  other_type.input("i", i);
  CHECK_EQ(Opened(other_type.build()).code(), code(StatusCode::kUnimplemented));

  ModelBuilder without_attr;
  const uint32_t a = without_attr.value(DType::kFloat32, {2, 2});
  without_attr.node("MatMul", {a, a}, {without_attr.value(DType::kFloat32, {2, 2})},
                    {type_attr("T", DType::kFloat32)});
  without_attr.input("a", a);
  Opened refused(without_attr.build());
  CHECK_EQ(refused.code(), code(StatusCode::kInvalidArgument));
  CHECK(refused.says("attr \"transpose_a\""));
}

TEST(ops_with_state_are_refused) {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {4});
  const uint32_t y = model.value(DType::kFloat32, {4});
  model.node("ReadVariableOp", {x}, {y}, {type_attr("dtype", DType::kFloat32)});
  model.input("x", x);
  model.output("y", y);
  Opened opened(model.build());
  CHECK(opened.code() != 0);
}

// A kernel that asks its attributes all there is to ask, and more scratch each time it runs.
class Curious final : public Kernel {
 public:
  explicit Curious(KernelInit& init) {
    bool known = true;
    const auto floats = init.float_list_attr("floats");
    const auto converted = init.float_list_attr("ints");
    const auto dims = init.partial_shape_attr("open", &known);
    right_ = init.int_attr("int") == -3 && init.float_attr("float") == 0.5 &&
             init.float_attr("int") == -3.0 && floats.size == 2 && floats[1] == 2.5 &&
             converted.size == 2 && converted[1] == 7.0 && init.int_list_attr("ints")[0] == 5 &&
             known && dims.size == 2 && dims[1] == -1 &&
             init.shape_attr("shape") == Shape({2, 3}) && init.type_attr("type") == DType::kInt64 &&
             init.string_attr("text") == "words" && init.tensor_attr("none").data == nullptr &&
             init.failed();
  }

  void compute(KernelContext& context) override {
    context.output(0, Shape());
    context.scratch(64 * static_cast<size_t>(++runs_));
  }

  static bool right_;

 private:
  int64_t runs_ = 0;
};
bool Curious::right_ = false;

// As Curious, without what is wrong in its node.
class Greedy final : public Kernel {
 public:
  explicit Greedy(KernelInit&) {}
  void compute(KernelContext& context) override {
    context.output(0, Shape());
    context.scratch(64 * static_cast<size_t>(++runs_));
  }

 private:
  int64_t runs_ = 0;
};

void register_test_kernels(KernelRegistry* registry) {
  registry->add<Curious>("Curious", {});
  registry->add<Greedy>("Greedy", {});
}

testing::Attr of_kind(const char* name, Kind kind, uint64_t payload) {
  return {name, kind, payload};
}

TEST(kernels_read_attributes_of_every_kind) {
  ModelBuilder model;
  testing::Attr open = testing::ints_attr("open", {2, -1}),
                shape = testing::ints_attr("shape", {2, 3});
  open.kind = shape.kind = Kind::kShape;
  const double half = 0.5;
  uint64_t bits = 0;
  std::memcpy(&bits, &half, sizeof(bits));
  model.node(
      "Curious", {}, {model.value(DType::kFloat32, {})},
      {of_kind("int", Kind::kInt, static_cast<uint64_t>(-3)), of_kind("float", Kind::kFloat, bits),
       testing::floats_attr("floats", {1.5, 2.5}), testing::ints_attr("ints", {5, 7}), open, shape,
       type_attr("type", DType::kInt64), string_attr("text", "words")});
  Opened opened(model.build(), 0, register_test_kernels);
  CHECK(Curious::right_);
  CHECK(opened.says("attr \"none\""));
}

TEST(more_scratch_than_was_measured_is_an_error) {
  ModelBuilder model;
  model.node("Greedy", {}, {model.value(DType::kFloat32, {})}, {});
  Opened opened(model.build(), 0, register_test_kernels);
  CHECK_EQ(opened.code(), 0);
  CHECK_EQ(opened.run(), code(StatusCode::kResourceExhausted));
  CHECK(opened.says("[Greedy]"));
}

}  // namespace
}  // namespace qanat::mobile
