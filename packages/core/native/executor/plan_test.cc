// What is refused before anything runs, and how kernels see their nodes.
#include "packages/core/native/executor/plan.h"

#include <string>

#include "packages/core/native/executor/kernel_registry.h"
#include "packages/core/native/executor/test_graph.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

Status status_of(const TestGraph& test, std::vector<Port> fetches, std::vector<int> targets = {}) {
  GraphDef graph = test.graph;
  graph.fetches = std::move(fetches);
  graph.targets = std::move(targets);
  std::unique_ptr<Executable> executable;
  return Executable::compile(test_runtime(), std::move(graph), &executable);
}

void check_refused(const Status& status, StatusCode code, int node, const std::string& part) {
  CHECK_EQ(status.code, code);
  CHECK_EQ(status.node, node);
  CHECK(status.message.find(part) != std::string::npos);
}

TEST(unordered_or_missing_inputs_are_refused) {
  TestGraph graph;
  const int sum = graph.add(1, 1);
  graph.arg();
  check_refused(status_of(graph, {{sum, 0}}), StatusCode::kInvalidArgument, 0, "earlier");
  TestGraph controls;
  controls.no_op({7});
  check_refused(status_of(controls, {}, {0}), StatusCode::kInvalidArgument, 0, "earlier");
  TestGraph fetches;
  fetches.arg();
  check_refused(status_of(fetches, {{0, 1}}), StatusCode::kInvalidArgument, -1, "fetches");
  check_refused(status_of(fetches, {{5, 0}}), StatusCode::kInvalidArgument, -1, "fetches");
  check_refused(status_of(fetches, {}, {-1}), StatusCode::kInvalidArgument, -1, "targets");
}

TEST(a_missing_kernel_is_refused_with_what_there_is) {
  TestGraph graph;
  graph.node({"n", "NoSuchOp", {}, {}, {}, {DType::kFloat32}, {}}, {});
  check_refused(status_of(graph, {{0, 0}}), StatusCode::kUnimplemented, 0, "NoSuchOp");
  TestGraph typed;
  const int x = typed.arg(DType::kBool);
  typed.node({"n", "TestAdd", {}, {}, {{"T", DType::kBool}}, {DType::kBool}, {}}, {x, x});
  check_refused(status_of(typed, {{1, 0}}), StatusCode::kUnimplemented, 1,
                "{T: bool}, got only those for {T: float32}, {T: int64}");
}

TEST(a_kernel_that_lacks_an_attr_is_refused) {
  TestGraph graph;
  graph.node({"n", "TestSleep", {}, {}, {{"ms", 2.5}}, {DType::kFloat32}, {}}, {});
  check_refused(status_of(graph, {{0, 0}}), StatusCode::kInvalidArgument, 0,
                "expected attr \"ms\" to be an integer, got another kind");
  TestGraph missing;
  missing.node({"n", "TestSleep", {}, {}, {}, {DType::kFloat32}, {}}, {});
  check_refused(status_of(missing, {{0, 0}}), StatusCode::kInvalidArgument, 0, "got none");
}

class Attrs final : public Kernel {
 public:
  explicit Attrs(KernelInit& init) {
    CHECK_EQ(init.node_name(), "node");
    CHECK_EQ(init.num_inputs(), 1);
    CHECK_EQ(init.input_dtype(0), DType::kFloat32);
    CHECK_EQ(init.output_dtype(0), DType::kInt64);
    CHECK(init.has_attr("flag") && !init.has_attr("flags"));
    CHECK_EQ(init.int_attr("int"), 7);
    CHECK_EQ(init.float_attr("float"), 0.5);
    CHECK_EQ(init.float_attr("int"), 7.0);
    CHECK(init.bool_attr("flag"));
    CHECK_EQ(init.string_attr("string"), "text");
    CHECK_EQ(init.type_attr("type"), DType::kInt8);
    CHECK(init.shape_attr("shape") == Shape({2, 3}));
    CHECK_EQ(init.int_list_attr("ints").size, 2);
    CHECK_EQ(init.int_list_attr("ints")[1], 5);
    CHECK_EQ(init.float_list_attr("floats")[0], 1.5);
    CHECK_EQ(init.float_list_attr("ints")[1], 5.0);
    CHECK_EQ(*init.tensor_attr("tensor").as<float>(), 4);
    CHECK(!init.failed());
    init.shape_attr("partial");
    CHECK(init.failed());
    init.invalid("only the first failure counts");
  }
  void compute(KernelContext&) override {}
};

TEST(kernels_read_their_attrs) {
  const Status added = LoadedKernels::process().add_all(
      [](KernelRegistry* registry) { registry->add<Attrs>("TestAttrs", {}); });
  CHECK(added.ok());
  TestGraph graph;
  const int x = graph.arg();
  NodeDef node{"node", "TestAttrs", {}, {}, {}, {DType::kInt64}, {}};
  Tensor tensor;
  CHECK(tensor.allocate(DType::kFloat32, Shape(), &Allocator::process()));
  *tensor.view.as<float>() = 4;
  node.attrs = {{"int", int64_t{7}},
                {"float", 0.5},
                {"flag", true},
                {"string", std::string("text")},
                {"type", DType::kInt8},
                {"shape", PartialShape{{2, 3}, true}},
                {"partial", PartialShape{{2, -1}, true}},
                {"ints", IntList{4, 5}},
                {"floats", FloatList{1.5}},
                {"tensor", tensor}};
  graph.node(node, {x});
  check_refused(status_of(graph, {{1, 0}}), StatusCode::kInvalidArgument, 1,
                "expected attr \"partial\" to be a fully known shape");
}

TEST(kernels_that_cannot_be_told_apart_are_refused) {
  test_runtime();
  const size_t before = LoadedKernels::process().all().size();
  const Status status = LoadedKernels::process().add_all([](KernelRegistry* registry) {
    registry->add<Attrs>("TestOther", {});
    registry->add<Attrs>("TestAdd", {{"S", DType::kInt8}});
  });
  CHECK_EQ(status.code, StatusCode::kAlreadyExists);
  CHECK(status.message.find("TestAdd") != std::string::npos);
  CHECK_EQ(LoadedKernels::process().all().size(), before);
  const Status twice = LoadedKernels::process().add_all([](KernelRegistry* registry) {
    registry->add<Attrs>("TestTwice", {{"T", DType::kInt8}});
    registry->add<Attrs>("TestTwice", {{"T", DType::kInt8}});
  });
  CHECK_EQ(twice.code, StatusCode::kAlreadyExists);
}

TEST(a_list_of_types_meets_a_constraint_if_all_its_types_do) {
  const Status added = LoadedKernels::process().add_all(
      [](KernelRegistry* registry) { registry->add<Attrs>("TestList", {{"T", DType::kInt8}}); });
  CHECK(added.ok());
  const KernelDef* def = nullptr;
  NodeDef node{"node", "TestList", {}, {}, {{"T", IntList{6, 6}}}, {}, {}};
  CHECK(LoadedKernels::process().find(node, &def).ok());
  node.attrs["T"] = IntList{6, 9};
  CHECK(!LoadedKernels::process().find(node, &def).ok());
}

TEST(a_library_that_is_none_is_refused) {
  LoadedKernels& kernels = LoadedKernels::process();
  CHECK_EQ(kernels.load_library("no/such/file.so").code, StatusCode::kNotFound);
  CHECK_EQ(kernels.load_library("/proc/self/status").code, StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace qanat
