#include "packages/mobile_runtime/native/node_init.h"

#include <bit>

namespace qanat::mobile {
namespace {

bool meets(const AttrRecord* attr, const ModelFile& file, DType dtype) {
  if (attr == nullptr) return false;
  if (attr->kind == Kind::kType) return attr->payload == static_cast<uint64_t>(dtype);
  if (attr->kind != Kind::kTypes) return false;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (file.list<int64_t>(*attr)[i] != static_cast<int64_t>(dtype)) return false;
  }
  return true;
}

}  // namespace

const AttrRecord* find_attr(const ModelFile& file, const NodeRecord& node, const char* name) {
  const AttrRecord* const attrs = file.attrs(node);
  for (uint32_t i = 0; i < node.attrs; ++i) {
    if (file.text(attrs[i].name) == name) return &attrs[i];
  }
  return nullptr;
}

bool serves(const KernelDef& def, const ModelFile& file, const NodeRecord& node) {
  if (file.text(node.op) != def.op) return false;
  for (int i = 0; i < def.num_types; ++i) {
    const TypeConstraint& type = def.types[i];
    if (!meets(find_attr(file, node, type.attr), file, type.dtype)) return false;
  }
  return true;
}

void NodeInit::fail(StatusCode code, const char* message) {
  failure_.set(code, "[%s] %s (node '%s')", file_.c_str(node_.op), message,
               file_.c_str(node_.name));
}

DType NodeInit::dtype(uint32_t first, uint32_t count, int i) const {
  if (i < 0 || static_cast<uint32_t>(i) >= count) return DType::kInvalid;
  return static_cast<DType>(file_.value(file_.edges()[first + static_cast<uint32_t>(i)]).dtype);
}

const AttrRecord* NodeInit::expect(const char* name, Kind kind, Kind other) {
  const AttrRecord* const attr = find_attr(file_, node_, name);
  if (attr != nullptr && (attr->kind == kind || attr->kind == other)) return attr;
  invalid("expected attr \"%s\" of kind %d, got %s", name, static_cast<int>(kind),
          attr == nullptr ? "none" : "another kind");
  return nullptr;
}

int64_t NodeInit::int_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kInt);
  return attr == nullptr ? 0 : static_cast<int64_t>(attr->payload);
}

double NodeInit::float_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kFloat, Kind::kInt);
  if (attr == nullptr) return 0;
  return attr->kind == Kind::kInt ? static_cast<double>(static_cast<int64_t>(attr->payload))
                                  : std::bit_cast<double>(attr->payload);
}

bool NodeInit::bool_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kBool);
  return attr != nullptr && attr->payload != 0;
}

Text NodeInit::string_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kString);
  if (attr == nullptr) return {};
  return std::string_view(file_.list<char>(*attr), attr->count);
}

DType NodeInit::type_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kType);
  return attr == nullptr ? DType::kInvalid : static_cast<DType>(attr->payload);
}

KernelInit::List<int64_t> NodeInit::partial_shape_attr(const char* name, bool* known_rank) {
  const AttrRecord* const attr = expect(name, Kind::kShape);
  *known_rank = attr != nullptr && attr->count != kUnknownRank;
  if (!*known_rank) return {nullptr, 0};
  return {file_.list<int64_t>(*attr), static_cast<int>(attr->count)};
}

Shape NodeInit::shape_attr(const char* name) {
  bool known = false;
  Shape shape;
  for (int64_t dim : partial_shape_attr(name, &known)) known = known && shape.add(dim);
  if (!known) invalid("expected attr \"%s\" to be a fully known shape", name);
  return shape;
}

TensorView NodeInit::tensor_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kTensor);
  if (attr == nullptr) return {};
  const uint32_t tensor = static_cast<uint32_t>(attr->payload);
  return file_.view(file_.value(file_.num_values() + tensor), nullptr);
}

KernelInit::List<int64_t> NodeInit::int_list_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kInts, Kind::kTypes);
  if (attr == nullptr) return {nullptr, 0};
  return {file_.list<int64_t>(*attr), static_cast<int>(attr->count)};
}

KernelInit::List<double> NodeInit::float_list_attr(const char* name) {
  const AttrRecord* const attr = expect(name, Kind::kFloats, Kind::kInts);
  if (attr == nullptr) return {nullptr, 0};
  if (attr->kind == Kind::kInts) return as_floats(*attr);
  return {file_.list<double>(*attr), static_cast<int>(attr->count)};
}

KernelInit::List<double> NodeInit::as_floats(const AttrRecord& integers) {
  double* const floats = memory_.array<double>(integers.count);
  if (floats == nullptr) {
    fail(StatusCode::kResourceExhausted, "expected memory for attributes, got none");
    return {nullptr, 0};
  }
  for (uint32_t i = 0; i < integers.count; ++i) {
    floats[i] = static_cast<double>(file_.list<int64_t>(integers)[i]);
  }
  return {floats, static_cast<int>(integers.count)};
}

}  // namespace qanat::mobile
