// Every registered kernel, with random attributes, dtypes, shapes and values: whatever comes, it
// may fail but not crash. Worth running under ASan and UBSan: tools/bazel test --config=asan.
#include <cstdio>
#include <limits>
#include <random>
#include <set>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

class Fuzzer {
 public:
  explicit Fuzzer(unsigned seed) : random_(seed) {}

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound));
  }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

  // An integer as shapes and indices have it, now and then an absurd one.
  int64_t integer() {
    if (one_in(40)) {
      return pick<int64_t>(
          {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, int64_t{1} << 40, -1000000});
    }
    return one_in(4) ? below(12) - 4 : below(4);
  }

  Shape shape() {
    Shape made;
    const int64_t rank = one_in(20) ? 8 : below(5);
    for (int64_t i = 0; i < rank; ++i) made.add(pick<int64_t>({0, 1, 1, 2, 2, 3, 3, 4, 5, 17}));
    if (made.num_elements() > 5000) return Shape({3});
    return made;
  }

  // All attributes that any kernel reads, so that it finds its own.
  Attrs attrs() {
    const auto mask = [&] { return one_in(2) ? int64_t{0} : below(32); };
    const auto spatial = [&](int64_t bound) {
      return Ints{one_in(30) ? integer() : 1, 1 + below(bound), 1 + below(bound), 1};
    };
    return {
        {"T", DType::kFloat32},
        {"H", below(2)},
        {"M", below(2)},
        {"N", below(4)},
        {"activation", std::string(pick({"", "Relu"}))},
        {"adj_x", one_in(2)},
        {"adj_y", one_in(2)},
        {"alpha", 0.25},
        {"axis", one_in(3) ? integer() : below(4) - 2},
        {"batch_dims", one_in(10) ? integer() : 0},
        {"begin_mask", mask()},
        {"clear_after_read", one_in(2)},
        {"container", std::string()},
        {"data_format", std::string(one_in(20) ? "NCHW" : "NHWC")},
        {"dilations", spatial(2)},
        {"dtype", pick({DType::kFloat32, DType::kInt32, DType::kString})},
        {"dynamic_size", one_in(2)},
        {"elem_type", pick({DType::kFloat32, DType::kInt32})},
        {"element_shape", shape()},
        {"element_shape_except0", shape()},
        {"ellipsis_mask", one_in(3) ? int64_t{1} << below(4) : 0},
        {"end_mask", mask()},
        {"explicit_paddings", Ints{0, 0, below(3), below(3), below(3), below(3), 0, 0}},
        {"identical_element_shapes", one_in(2)},
        {"keep_dims", one_in(2)},
        {"ksize", spatial(4)},
        {"new_axis_mask", mask()},
        {"num", below(4)},
        {"num_split", below(4)},
        {"padding", std::string(pick({"SAME", "VALID", "EXPLICIT"}))},
        {"program",
         std::string(pick({"t0=Mul(v0,v0);out=t0", "t0=Add(s0,v1);out=t0", "h0+=v0", "t0="}))},
        {"seed", below(3)},
        {"seed2", integer()},
        {"shape", shape()},
        {"shared_name", std::string()},
        {"shrink_axis_mask", mask()},
        {"sorted", one_in(2)},
        {"source", std::string("gradients")},
        {"stack_name", std::string()},
        {"squeeze_dims", one_in(2) ? Ints{} : Ints{integer(), integer()}},
        {"strides", spatial(3)},
        {"summarize", integer()},
        {"tensor_array_name", std::string()},
        {"transpose_a", one_in(2)},
        {"transpose_b", one_in(2)},
    };
  }

  // An input. Most share one shape, or are small vectors that tell what to do with one of that
  // rank.
  Tensor input(DType dtype, const Shape& common) {
    if (dtype == DType::kResource) return handle();
    const bool tells = dtype == DType::kInt32 || dtype == DType::kInt64;
    Shape made = common;
    if (tells && !one_in(3)) {
      made = one_in(2) ? Shape() : one_in(4) ? Shape({below(4)}) : Shape({common.rank()});
      if (one_in(8)) made = Shape({common.rank(), 2});
    } else if (one_in(3)) {
      made = one_in(3) ? Shape() : shape();
    } else if (one_in(6) && common.rank() > 0) {
      made = Shape({common[common.rank() - 1]});
    }
    Tensor tensor(dtype, made);
    fill(tensor);
    return tensor;
  }

  // A handle of a variable, which mostly has a value, of a stack or of an array.
  Tensor handle() {
    if (one_in(4)) return stack();
    if (one_in(3)) return array();
    const Result made = run("VarHandleOp", {},
                            {{"container", std::string("fuzz")},
                             {"shared_name", std::string(pick({"a", "b", "c"}))},
                             {"dtype", DType::kFloat32}},
                            {DType::kResource});
    CHECK(made.ok());
    return made.outputs[0];
  }

 private:
  Tensor stack() {
    const Result made =
        run("StackV2", {scalar<int32_t>(-1)},
            {{"elem_type", DType::kFloat32}, {"stack_name", std::string()}}, {DType::kResource});
    CHECK(made.ok());
    run("StackPushV2", {made.outputs[0], scalar<float>(1)}, {}, {DType::kFloat32});
    return made.outputs[0];
  }

  // Of rows of three, some of which are written.
  Tensor array() {
    const Result made = run("TensorArrayV3", {scalar<int32_t>(4)},
                            {{"dtype", DType::kFloat32},
                             {"element_shape", Shape({3})},
                             {"dynamic_size", one_in(2)},
                             {"clear_after_read", one_in(2)},
                             {"identical_element_shapes", false},
                             {"tensor_array_name", std::string()}},
                            {DType::kResource, DType::kFloat32});
    CHECK(made.ok());
    for (int32_t i = 0; i < 3; ++i) {
      run("TensorArrayWriteV3",
          {made.outputs[0], scalar(i), vector<float>({1, 2, 3}), scalar<float>(0)}, {},
          {DType::kFloat32});
    }
    return made.outputs[0];
  }

  void fill(Tensor& tensor) {
    for (int64_t i = 0; i < tensor.size(); ++i) fill_element(tensor, i);
  }

  void fill_element(Tensor& tensor, int64_t i) {
    const double number =
        one_in(12) ? pick({0.0, -0.0, 1e30, -1e300, 0.5, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()})
                   : static_cast<double>(below(2000)) / 100 - 5;
    switch (tensor.dtype()) {
#define QANAT_FUZZ_INT(e, type)                            \
  case DType::e:                                           \
    tensor.data<type>()[i] = static_cast<type>(integer()); \
    return;
      QANAT_FUZZ_INT(kInt8, int8_t)
      QANAT_FUZZ_INT(kInt16, int16_t)
      QANAT_FUZZ_INT(kInt32, int32_t)
      QANAT_FUZZ_INT(kInt64, int64_t)
      QANAT_FUZZ_INT(kUInt8, uint8_t)
      QANAT_FUZZ_INT(kUInt16, uint16_t)
      QANAT_FUZZ_INT(kUInt32, uint32_t)
      QANAT_FUZZ_INT(kUInt64, uint64_t)
#undef QANAT_FUZZ_INT
      case DType::kBool:
        tensor.data<bool>()[i] = one_in(2);
        return;
      case DType::kFloat32:
        tensor.data<float>()[i] = std::fabs(number) > 1e38 ? -INFINITY : static_cast<float>(number);
        return;
      case DType::kFloat64:
        tensor.data<double>()[i] = number;
        return;
      case DType::kFloat16:
        tensor.data<Float16>()[i].bits = static_cast<uint16_t>(random_());
        return;
      case DType::kBFloat16:
        tensor.data<BFloat16>()[i].bits = static_cast<uint16_t>(random_());
        return;
      case DType::kComplex64:
        tensor.data<std::complex<float>>()[i] = {static_cast<float>(below(5)), 1};
        return;
      case DType::kComplex128:
        tensor.data<std::complex<double>>()[i] = {number, 1};
        return;
      case DType::kString:
        tensor.data<Bytes>()[i].assign(std::string(static_cast<size_t>(below(40)), 'x'));
        return;
      default:
        return;
    }
  }

  std::mt19937_64 random_;
};

// What a kernel takes, found by trying: an op's definition is not known here.
struct Signature {
  std::vector<DType> inputs, outputs;
  Attrs attrs;
};

Signature random_signature(Fuzzer& fuzzer, const KernelDef& def) {
  Signature made;
  const auto dtype = [&] {
    if (def.num_types > 0 && !fuzzer.one_in(3)) {
      return def.types[fuzzer.below(def.num_types)].dtype;
    }
    return fuzzer.pick(
        {DType::kInt32, DType::kInt64, DType::kBool, DType::kResource, DType::kFloat32});
  };
  const int64_t inputs = fuzzer.below(6), outputs = fuzzer.below(4);
  for (int64_t i = 0; i < inputs; ++i) made.inputs.push_back(dtype());
  for (int64_t i = 0; i < outputs; ++i) made.outputs.push_back(dtype());
  made.attrs = fuzzer.attrs();
  return made;
}

// How many runs of the kernel succeed, of several with each of the signatures that it accepts.
int fuzz(Fuzzer& fuzzer, const KernelDef& def) {
  constexpr int kTrials = 600, kSignatures = 6, kRuns = 12;
  int succeeded = 0, accepted = 0;
  for (int trial = 0; trial < kTrials && accepted < kSignatures; ++trial) {
    const Signature signature = random_signature(fuzzer, def);
    Node node(def, signature.inputs, signature.outputs, signature.attrs);
    if (!node.built()) continue;
    ++accepted;
    for (int i = 0; i < kRuns; ++i) {
      const Shape common = fuzzer.shape();
      std::vector<Tensor> inputs;
      for (DType dtype : signature.inputs) inputs.push_back(fuzzer.input(dtype, common));
      const Result result = node.run(std::move(inputs));
      CHECK(result.code != StatusCode::kInternal);
      CHECK_EQ(result.ok(), result.message.empty());
      succeeded += result.ok();
    }
  }
  return succeeded;
}

TEST(no_kernel_crashes) {
  Fuzzer fuzzer(20);
  for (int i = 0; i < 3; ++i) {
    const Tensor value(DType::kFloat32, i == 0 ? Shape() : Shape({i, 3}));
    run("AssignVariableOp", {fuzzer.handle(), value}, {}, {});
  }
  std::set<std::string> ran, all;
  for (const KernelDef& def : registry().defs()) {
    all.insert(def.op);
    if (fuzz(fuzzer, def) > 0) ran.insert(def.op);
  }
  std::string never;
  for (const std::string& op : all) {
    if (ran.count(op) == 0) never += " " + op;
  }
  std::fprintf(stderr, "%zu of %zu ops succeeded at times; never:%s\n", ran.size(), all.size(),
               never.c_str());
  CHECK(ran.size() * 10 >= all.size() * 8);
}

}  // namespace
}  // namespace qanat::testing
