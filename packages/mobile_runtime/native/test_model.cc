#include "packages/mobile_runtime/native/test_model.h"

#include <algorithm>
#include <cstring>

#include "packages/core/native/base/crc32c.h"

namespace qanat::mobile::testing {
namespace {

uint64_t round_up(uint64_t size, uint64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The file as it grows: sections first, then what they point to.
class Out {
 public:
  explicit Out(size_t size) : bytes_(size, '\0') {}

  uint64_t add(const std::string& data, uint64_t alignment) {
    bytes_.resize(round_up(bytes_.size(), alignment));
    const uint64_t at = bytes_.size();
    bytes_ += data;
    return at;
  }
  Span text(const std::string& text) {
    const uint64_t at = add(text + '\0', 1);
    return {static_cast<uint32_t>(at), static_cast<uint32_t>(text.size())};
  }
  template <typename Record>
  void put(size_t at, const std::vector<Record>& records) {
    if (!records.empty()) std::memcpy(&bytes_[at], records.data(), records.size() * sizeof(Record));
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

template <typename Record>
size_t section_bytes(size_t count) {
  return round_up(count * sizeof(Record), 8);
}

// The sections of a file, in its order.
struct Sections {
  std::vector<ValueRecord> values;
  std::vector<NodeRecord> nodes;
  std::vector<AttrRecord> attrs;
  std::vector<PortRecord> ports;
  std::vector<uint32_t> edges;

  // Calls visit(section) for each.
  template <typename Visit>
  void visit(Visit visit) const {
    visit(values);
    visit(nodes);
    visit(attrs);
    visit(ports);
    visit(edges);
  }
};

bool is_inline(Kind kind) {
  return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kType ||
         kind == Kind::kTensor;
}

template <typename Node>
void put_node(const Node& node, Out& out, Sections* to) {
  const auto count = [](const auto& some) { return static_cast<uint32_t>(some.size()); };
  const uint32_t edge = count(to->edges);
  to->nodes.push_back({out.text("node" + std::to_string(to->nodes.size())), out.text(node.op), edge,
                       count(node.inputs), edge + count(node.inputs), count(node.outputs),
                       count(to->attrs), count(node.attrs)});
  to->edges.insert(to->edges.end(), node.inputs.begin(), node.inputs.end());
  to->edges.insert(to->edges.end(), node.outputs.begin(), node.outputs.end());
  for (const Attr& attr : node.attrs) {
    const Span name = out.text(attr.name);
    const uint64_t payload = is_inline(attr.kind) ? attr.payload : out.add(attr.data, 8);
    to->attrs.push_back({name, attr.kind, attr.count, payload});
  }
}

template <typename Value>
void put_value(const Value& value, Out& out, Sections* to) {
  ValueRecord record = {out.text("value" + std::to_string(to->values.size())),
                        static_cast<uint32_t>(value.dtype),
                        static_cast<uint32_t>(value.shape.rank()),
                        value.place,
                        0,
                        value.offset,
                        {}};
  for (int i = 0; i < value.shape.rank(); ++i) record.dims[i] = value.shape[i];
  if (value.place == Place::kFile) record.offset = out.add(value.data, kAlignment);
  to->values.push_back(record);
}

HeaderRecord header_of(const Sections& sections) {
  HeaderRecord header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.values = static_cast<uint32_t>(sections.values.size());
  header.nodes = static_cast<uint32_t>(sections.nodes.size());
  header.attrs = static_cast<uint32_t>(sections.attrs.size());
  header.edges = static_cast<uint32_t>(sections.edges.size());
  return header;
}

}  // namespace

Image::Image(const std::string& bytes) : size_(bytes.size()) {
  // The file ends where the memory does; malloc's memory may be less aligned than a page is.
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, std::max<size_t>(1, size_)) != 0) std::abort();
  std::memcpy(memory, bytes.data(), size_);
  memory_.reset(memory);
}

void seal(std::string* bytes) {
  if (bytes->size() < sizeof(HeaderRecord)) return;
  const uint32_t checksum = crc32c(bytes->data() + kCheckedFrom, bytes->size() - kCheckedFrom);
  std::memcpy(&(*bytes)[offsetof(HeaderRecord, checksum)], &checksum, sizeof(checksum));
}

Attr bool_attr(const char* name, bool value) { return {name, Kind::kBool, value ? 1u : 0u}; }

Attr type_attr(const char* name, DType dtype) {
  return {name, Kind::kType, static_cast<uint64_t>(dtype)};
}

Attr string_attr(const char* name, const char* text) {
  return {name, Kind::kString, 0, text, static_cast<uint32_t>(std::strlen(text))};
}

Attr int_attr(const char* name, int64_t value) {
  return {name, Kind::kInt, static_cast<uint64_t>(value)};
}

Attr shape_attr(const char* name, const std::vector<int64_t>& dims) {
  return {name, Kind::kShape, 0, bytes_of(dims), static_cast<uint32_t>(dims.size())};
}

Attr ints_attr(const char* name, const std::vector<int64_t>& values) {
  return {name, Kind::kInts, 0, bytes_of(values), static_cast<uint32_t>(values.size())};
}

Attr floats_attr(const char* name, const std::vector<double>& values) {
  return {name, Kind::kFloats, 0, bytes_of(values), static_cast<uint32_t>(values.size())};
}

uint32_t ModelBuilder::add_value(DType dtype, const Shape& shape, Place place, uint64_t offset,
                                 const std::string& data) {
  values_.push_back({dtype, shape, place, offset, data});
  return static_cast<uint32_t>(values_.size() - 1);
}

uint32_t ModelBuilder::value(DType dtype, const Shape& shape) {
  return value_at(dtype, shape, arena_bytes_);
}

uint32_t ModelBuilder::value_at(DType dtype, const Shape& shape, uint64_t offset) {
  const uint64_t bytes = static_cast<uint64_t>(shape.num_elements()) * dtype_size(dtype);
  arena_bytes_ = std::max(arena_bytes_, round_up(offset + bytes, kAlignment));
  return add_value(dtype, shape, Place::kArena, offset, {});
}

void ModelBuilder::node(const char* op, const std::vector<uint32_t>& inputs,
                        const std::vector<uint32_t>& outputs, const std::vector<Attr>& attrs) {
  nodes_.push_back({op, inputs, outputs, attrs});
}

size_t ModelBuilder::sections_bytes() const {
  size_t attrs = 0, edges = 0;
  for (const Node& node : nodes_) {
    attrs += node.attrs.size();
    edges += node.inputs.size() + node.outputs.size();
  }
  return section_bytes<ValueRecord>(values_.size()) + section_bytes<NodeRecord>(nodes_.size()) +
         section_bytes<AttrRecord>(attrs) +
         section_bytes<PortRecord>(inputs_.size() + outputs_.size()) +
         section_bytes<uint32_t>(edges);
}

std::string ModelBuilder::build() const {
  Out out(sizeof(HeaderRecord) + sections_bytes());
  Sections sections;
  for (const Node& node : nodes_) put_node(node, out, &sections);
  for (const std::vector<Port>* some : {&inputs_, &outputs_}) {
    for (const Port& port : *some) sections.ports.push_back({out.text(port.name), port.value, 0});
  }
  for (const Value& value : values_) put_value(value, out, &sections);

  HeaderRecord header = header_of(sections);
  header.file_bytes = out.bytes().size();
  header.arena_bytes = arena_bytes_;
  header.inputs = static_cast<uint32_t>(inputs_.size());
  header.outputs = static_cast<uint32_t>(outputs_.size());
  out.put(0, std::vector<HeaderRecord>{header});
  size_t at = sizeof(header);
  sections.visit([&](const auto& records) {
    out.put(at, records);
    at += round_up(records.size() * sizeof(records[0]), 8);
  });
  seal(&out.bytes());
  return out.bytes();
}

std::string small_classifier() {
  ModelBuilder model;
  const Attr t = type_attr("T", DType::kFloat32);
  const uint32_t x = model.value(DType::kFloat32, {2, 3});
  const uint32_t w = model.constant<float>({3, 2}, {1, 0, 0, 1, 1, -1});
  const uint32_t b = model.constant<float>({2}, {0.5f, -10});
  const uint32_t y = model.value(DType::kFloat32, {2, 2});
  const uint32_t shape = model.constant<int32_t>({1}, {4});
  const uint32_t flat = model.value_at(DType::kFloat32, {4}, model.offset(y));
  const uint32_t p = model.value_at(DType::kFloat32, {4}, model.offset(y));
  model.node("_FusedMatMul", {x, w, b}, {y},
             {t, bool_attr("transpose_a", false), bool_attr("transpose_b", false),
              string_attr("activation", "Relu")});
  model.node("Reshape", {y, shape}, {flat}, {t, type_attr("Tshape", DType::kInt32)});
  model.node("Softmax", {flat}, {p}, {t});
  model.input("x", x);
  model.output("p", p);
  return model.build();
}

std::string small_program() {
  ModelBuilder model;
  const uint32_t x = model.value(DType::kFloat32, {2, 3});
  const uint32_t two = model.constant<float>({}, {2});
  const uint32_t y = model.constant<float>({2, 3}, {0, 1, 2, 3, 4, 5});
  const uint32_t z = model.value(DType::kFloat32, {2, 3});
  model.node("_FusedElementwise", {x, two, y}, {z},
             {type_attr("T", DType::kFloat32), int_attr("H", 0), int_attr("N", 3), int_attr("M", 1),
              shape_attr("shape", {2, 3}),
              string_attr("program", "t0=Mul(v0,s1);t1=Add(t0,v2);t2=Tanh(t1);out=t2")});
  model.input("x", x);
  model.output("z", z);
  return model.build();
}

std::string small_lenet() {
  ModelBuilder model;
  const Attr t = type_attr("T", DType::kFloat32);
  const uint32_t x = model.value(DType::kFloat32, {1, 8, 8, 1});
  std::vector<float> taps(9 * 4), weights(4 * 4 * 4 * 3);
  for (size_t i = 0; i < taps.size(); ++i) taps[i] = static_cast<float>(i % 5) - 2;
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) * 0.25f - 1;
  const uint32_t filter = model.constant<float>({3, 3, 1, 4}, taps);
  const uint32_t bias = model.constant<float>({4}, {0, 1, -1, 2});
  const uint32_t maps = model.value(DType::kFloat32, {1, 8, 8, 4});
  const uint32_t pooled = model.value(DType::kFloat32, {1, 4, 4, 4});
  const uint32_t shape = model.constant<int32_t>({2}, {1, -1});
  const uint32_t flat = model.value_at(DType::kFloat32, {1, 64}, model.offset(pooled));
  const uint32_t matrix = model.constant<float>({64, 3}, weights);
  const uint32_t bias2 = model.constant<float>({3}, {1, 2, 3});
  const uint32_t logits = model.value(DType::kFloat32, {1, 3});
  const std::vector<Attr> window = {t, string_attr("padding", "SAME"),
                                    ints_attr("explicit_paddings", {})};
  std::vector<Attr> conv = window, pool = window;
  conv.push_back(ints_attr("strides", {1, 1, 1, 1}));
  conv.push_back(ints_attr("dilations", {1, 1, 1, 1}));
  conv.push_back(string_attr("activation", "Relu"));
  pool.push_back(ints_attr("ksize", {1, 2, 2, 1}));
  pool.push_back(ints_attr("strides", {1, 2, 2, 1}));
  model.node("_FusedConv2D", {x, filter, bias}, {maps}, conv);
  model.node("MaxPool", {maps}, {pooled}, pool);
  model.node("Reshape", {pooled, shape}, {flat}, {t, type_attr("Tshape", DType::kInt32)});
  model.node("_FusedMatMul", {flat, matrix, bias2}, {logits},
             {t, bool_attr("transpose_a", false), bool_attr("transpose_b", false),
              string_attr("activation", "")});
  model.input("images", x);
  model.output("logits", logits);
  return model.build();
}

}  // namespace qanat::mobile::testing
