// What a model file may hold, and that all else is refused by name.
#include "packages/mobile_runtime/native/model_file.h"

#include <cstddef>
#include <cstring>
#include <functional>

#include "packages/core/native/testing/check.h"
#include "packages/mobile_runtime/native/test_model.h"

namespace qanat::mobile {
namespace {

using testing::Image;
using testing::seal;
using testing::small_classifier;

bool opens(const std::string& bytes, Failure& failure) {
  const Image image(bytes);
  return ModelFile().open(image.data(), image.size(), failure);
}

void expect_refused(const std::string& bytes, StatusCode code, const char* words) {
  Failure failure;
  CHECK(!opens(bytes, failure));
  CHECK_EQ(failure.code(), code);
  CHECK(std::strstr(failure.message(), words) != nullptr);
}

// A file in which `change` has been made to the records, with a checksum that agrees.
struct Records {
  HeaderRecord* header;
  ValueRecord* values;
  NodeRecord* nodes;
  AttrRecord* attrs;
  PortRecord* ports;
  uint32_t* edges;
};
std::string changed(const std::function<void(Records)>& change) {
  std::string bytes = small_classifier();
  char* at = bytes.data();
  Records records = {};
  records.header = reinterpret_cast<HeaderRecord*>(at);
  const HeaderRecord header = *records.header;
  records.values = reinterpret_cast<ValueRecord*>(at += sizeof(header));
  records.nodes = reinterpret_cast<NodeRecord*>(at += sizeof(ValueRecord) * header.values);
  records.attrs = reinterpret_cast<AttrRecord*>(at += sizeof(NodeRecord) * header.nodes);
  records.ports = reinterpret_cast<PortRecord*>(at += sizeof(AttrRecord) * header.attrs);
  records.edges =
      reinterpret_cast<uint32_t*>(at + sizeof(PortRecord) * (header.inputs + header.outputs));
  change(records);
  seal(&bytes);
  return bytes;
}

void expect_corrupt(const char* words, const std::function<void(Records)>& change) {
  expect_refused(changed(change), StatusCode::kDataLoss, words);
}

TEST(a_whole_file_is_read) {
  const Image image(small_classifier());
  ModelFile file;
  Failure failure;
  CHECK(file.open(image.data(), image.size(), failure));
  CHECK_EQ(file.num_nodes(), uint32_t{3});
  CHECK_EQ(file.text(file.node(0).op), "_FusedMatMul");
  CHECK_EQ(std::string(file.c_str(file.input(0).name)), "x");
  CHECK_EQ(file.text(file.attrs(file.node(0))[0].name), "T");
  const TensorView bias = file.view(file.value(2), nullptr);
  CHECK_EQ(bias.as<float>()[1], -10.0f);
  CHECK_EQ(reinterpret_cast<uintptr_t>(bias.data) % kAlignment, uintptr_t{0});
}

TEST(every_truncation_is_refused) {
  const std::string whole = small_classifier();
  for (size_t size = 0; size < whole.size(); ++size) {
    Failure failure;
    CHECK(!opens(whole.substr(0, size), failure));
    CHECK_EQ(failure.code(), StatusCode::kDataLoss);
  }
}

TEST(every_changed_byte_is_noticed) {
  for (size_t i = 0; i < small_classifier().size(); ++i) {
    std::string bytes = small_classifier();
    bytes[i] = static_cast<char>(bytes[i] ^ 0x40);
    Failure failure;
    CHECK(!opens(bytes, failure));
  }
}

TEST(a_newer_version_says_so) {
  expect_refused(changed([](Records r) { r.header->version = 2; }), StatusCode::kUnimplemented,
                 "version 1, got version 2");
}

TEST(memory_that_is_not_aligned_is_refused) {
  const Image image(small_classifier());
  Failure failure;
  CHECK(!ModelFile().open(static_cast<const char*>(image.data()) + 8, image.size() - 8, failure));
  CHECK_EQ(failure.code(), StatusCode::kInvalidArgument);
  Failure of_null;
  CHECK(!ModelFile().open(nullptr, 100, of_null));
}

TEST(counts_beyond_the_file_are_refused) {
  expect_corrupt("as many records", [](Records r) { r.header->values = 1 << 30; });
  expect_corrupt("as many records", [](Records r) { r.header->values = UINT32_MAX; });
  expect_corrupt("as many records", [](Records r) { r.header->edges = 1 << 24; });
  expect_corrupt("as many records", [](Records r) {
    r.header->inputs = UINT32_MAX;
    r.header->outputs = 2;
  });
}

TEST(values_are_checked) {
  expect_corrupt("number or bool", [](Records r) { r.values[0].dtype = 7; });
  expect_corrupt("number or bool", [](Records r) { r.values[0].dtype = 20; });
  expect_corrupt("number or bool", [](Records r) { r.values[0].dtype = 256 + 1; });
  expect_corrupt("8 dimensions", [](Records r) { r.values[0].rank = 9; });
  expect_corrupt("2^63", [](Records r) { r.values[0].dims[0] = -1; });
  expect_corrupt("2^63", [](Records r) { r.values[0].dims[0] = r.values[0].dims[1] = 1LL << 40; });
  expect_corrupt("memory can hold", [](Records r) { r.values[0].dims[0] = 1LL << 60; });
  expect_corrupt("within the arena", [](Records r) { r.values[0].dims[0] = 1 << 20; });
  expect_corrupt("within the arena", [](Records r) { r.values[0].offset = ~uint64_t{63}; });
  expect_corrupt("within the arena", [](Records r) { r.values[0].place = Place{2}; });
  expect_corrupt("aligned", [](Records r) { r.values[0].offset = 8; });
  expect_corrupt("constants within", [](Records r) { r.values[1].offset = 1 << 20; });
  expect_corrupt("constants within", [](Records r) { r.values[1].offset = ~uint64_t{63}; });
  expect_corrupt("0 or 1", [](Records r) { r.values[1].dtype = 10; });
  expect_corrupt("names", [](Records r) { r.values[0].name.offset = UINT32_MAX; });
  expect_corrupt("names", [](Records r) { r.values[0].name.size -= 1; });
}

TEST(nodes_attributes_and_ports_are_checked) {
  expect_corrupt("inputs, outputs", [](Records r) { r.nodes[0].first_input = 1000; });
  expect_corrupt("inputs, outputs", [](Records r) { r.nodes[0].inputs = UINT32_MAX; });
  expect_corrupt("inputs, outputs", [](Records r) { r.nodes[1].first_output = UINT32_MAX; });
  expect_corrupt("inputs, outputs", [](Records r) { r.nodes[2].attrs = 2; });
  expect_corrupt("indices of values", [](Records r) { r.edges[0] = r.header->values; });
  expect_corrupt("indices of values", [](Records r) {
    r.nodes[0].first_output = r.nodes[0].first_input;
    r.edges[1] = r.header->values;
  });
  expect_corrupt("known kinds", [](Records r) { r.attrs[0].kind = Kind{10}; });
  expect_corrupt("type attribute", [](Records r) { r.attrs[0].payload = 256; });
  expect_corrupt("tensor attribute", [](Records r) { r.attrs[0].kind = Kind::kTensor; });
  expect_corrupt("string within", [](Records r) { r.attrs[3].count = UINT32_MAX; });
  expect_corrupt("string within", [](Records r) { r.attrs[3].payload = ~uint64_t{0}; });
  for (const Kind kind : {Kind::kInts, Kind::kFloats, Kind::kTypes, Kind::kShape}) {
    expect_corrupt("list within", [&](Records r) {
      r.attrs[0].kind = kind;
      r.attrs[0].count = 1 << 20;
    });
    expect_corrupt("list within", [&](Records r) {
      r.attrs[0].kind = kind;
      r.attrs[0].payload = 4;
    });
  }
  expect_corrupt("to be values", [](Records r) { r.ports[1].value = 1000; });
  expect_corrupt("inputs in the arena", [](Records r) { r.ports[0].value = 1; });
}

}  // namespace
}  // namespace qanat::mobile
