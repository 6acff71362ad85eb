#include "packages/mobile_runtime/native/model_file.h"

#include <cinttypes>
#include <cstring>

#include "packages/core/native/base/crc32c.h"

namespace qanat::mobile {
namespace {

// Ranges of one section: so many that an int counts them.
bool fits(uint64_t first, uint64_t count, uint64_t all) {
  return count <= INT32_MAX && first <= all && count <= all - first;
}

bool are_bools(const char* bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (static_cast<unsigned char>(bytes[i]) > 1) return false;
  }
  return true;
}

bool corrupt(Failure& failure, const char* expected) {
  return failure.set(StatusCode::kDataLoss, "[Model] expected %s, got a corrupt file", expected);
}

}  // namespace

bool ModelFile::open(const void* memory, size_t bytes, Failure& failure) {
  if (memory == nullptr || reinterpret_cast<uintptr_t>(memory) % kAlignment != 0) {
    return failure.set(StatusCode::kInvalidArgument,
                       "[Model] expected memory aligned to %zu bytes, got %p", kAlignment, memory);
  }
  memory_ = static_cast<const char*>(memory);
  if (!read_header(bytes, failure) || !find_sections(failure)) return false;
  for (uint32_t i = 0; i < num_values() + num_tensors(); ++i) {
    if (!check_value(values_[i], i >= num_values(), failure)) return false;
  }
  for (uint32_t i = 0; i < num_nodes(); ++i) {
    if (!check_node(nodes_[i], failure)) return false;
  }
  for (uint32_t i = 0; i < header_->attrs; ++i) {
    if (!check_attr(attrs_[i], failure)) return false;
  }
  return check_ports(failure);
}

bool ModelFile::read_header(size_t bytes, Failure& failure) {
  bytes_ = bytes;
  header_ = reinterpret_cast<const HeaderRecord*>(memory_);
  if (bytes < sizeof(HeaderRecord) || std::memcmp(header_->magic, kMagic, sizeof(kMagic)) != 0) {
    return failure.set(StatusCode::kDataLoss, "[Model] expected a model file, got none");
  }
  if (header_->version != kVersion) {
    return failure.set(StatusCode::kUnimplemented,
                       "[Model] expected a file of version %" PRIu32 ", got version %" PRIu32,
                       kVersion, header_->version);
  }
  if (header_->file_bytes != bytes_) {
    return failure.set(StatusCode::kDataLoss,
                       "[Model] expected %" PRIu64 " bytes, got %" PRIu64 ": the file is cut",
                       header_->file_bytes, bytes_);
  }
  if (crc32c(memory_ + kCheckedFrom, bytes - kCheckedFrom) != header_->checksum) {
    return corrupt(failure, "another checksum");
  }
  if (header_->arena_bytes > SIZE_MAX / 2) {
    return failure.set(StatusCode::kResourceExhausted,
                       "[Model] expected an arena that memory can hold, got %" PRIu64 " bytes",
                       header_->arena_bytes);
  }
  return true;
}

bool ModelFile::find_sections(Failure& failure) {
  found_ = sizeof(HeaderRecord);
  return find_section(&values_, uint64_t{header_->values} + header_->tensors, failure) &&
         find_section(&nodes_, header_->nodes, failure) &&
         find_section(&attrs_, header_->attrs, failure) &&
         find_section(&ports_, uint64_t{header_->inputs} + header_->outputs, failure) &&
         find_section(&edges_, header_->edges, failure);
}

template <typename Record>
bool ModelFile::find_section(const Record** records, uint64_t count, Failure& failure) {
  const uint64_t size = count * sizeof(Record);
  if (count > INT32_MAX || !holds(found_, size)) {
    return corrupt(failure, "as many records as the header says");
  }
  *records = reinterpret_cast<const Record*>(memory_ + found_);
  found_ += (size + 7) / 8 * 8;
  return true;
}

bool ModelFile::holds(uint64_t offset, uint64_t bytes) const {
  return offset <= bytes_ && bytes <= bytes_ - offset;
}

bool ModelFile::check_text(Span span, Failure& failure) const {
  const uint64_t end = uint64_t{span.offset} + span.size;
  return (end < bytes_ && memory_[end] == '\0') || corrupt(failure, "names within the file");
}

bool ModelFile::check_value(const ValueRecord& value, bool in_file, Failure& failure) const {
  const DType dtype = static_cast<DType>(value.dtype);
  if (!check_text(value.name, failure)) return false;
  if (value.dtype > UINT8_MAX || dtype_size(dtype) == 0 || !is_plain(dtype)) {
    return corrupt(failure, "values of a number or bool type");
  }
  if (value.rank > kMaxRank) return corrupt(failure, "values of at most 8 dimensions");
  Shape shape;
  for (uint32_t i = 0; i < value.rank; ++i) {
    if (!shape.add(value.dims[i])) return corrupt(failure, "values of fewer than 2^63 elements");
  }
  const uint64_t elements = static_cast<uint64_t>(shape.num_elements());
  if (elements > SIZE_MAX / 2 / dtype_size(dtype)) {
    return corrupt(failure, "values that memory can hold");
  }
  const uint64_t bytes = elements * dtype_size(dtype);
  if (value.offset % kAlignment != 0) return corrupt(failure, "aligned values");
  if (value.place == Place::kFile) {
    if (!holds(value.offset, bytes)) return corrupt(failure, "constants within the file");
    return dtype != DType::kBool || are_bools(memory_ + value.offset, bytes) ||
           corrupt(failure, "bools that are 0 or 1");
  }
  const uint64_t arena = header_->arena_bytes;
  const bool inside = value.offset <= arena && bytes <= arena - value.offset;
  return (!in_file && value.place == Place::kArena && inside) ||
         corrupt(failure, "values within the arena");
}

bool ModelFile::check_node(const NodeRecord& node, Failure& failure) const {
  if (!check_text(node.name, failure) || !check_text(node.op, failure)) return false;
  if (!fits(node.first_input, node.inputs, num_edges()) ||
      !fits(node.first_output, node.outputs, num_edges()) ||
      !fits(node.first_attr, node.attrs, header_->attrs)) {
    return corrupt(failure, "inputs, outputs and attributes of a node within their sections");
  }
  const auto are_values = [&](uint32_t first, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (edges_[first + i] >= num_values()) return false;
    }
    return true;
  };
  if (!are_values(node.first_input, node.inputs) || !are_values(node.first_output, node.outputs)) {
    return corrupt(failure, "indices of values");
  }
  return true;
}

bool ModelFile::check_attr(const AttrRecord& attr, Failure& failure) const {
  if (!check_text(attr.name, failure)) return false;
  switch (attr.kind) {
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return true;
    case Kind::kType:
      return attr.payload <= UINT8_MAX || corrupt(failure, "a type attribute");
    case Kind::kTensor:
      return attr.payload < num_tensors() || corrupt(failure, "a tensor attribute");
    case Kind::kString:
      return holds(attr.payload, attr.count) || corrupt(failure, "a string within the file");
    case Kind::kShape:
      if (attr.count == kUnknownRank) return true;
      [[fallthrough]];
    case Kind::kInts:
    case Kind::kFloats:
    case Kind::kTypes:
      return (attr.count <= INT32_MAX && attr.payload % 8 == 0 &&
              holds(attr.payload, uint64_t{attr.count} * 8)) ||
             corrupt(failure, "a list within the file");
  }
  return corrupt(failure, "attributes of known kinds");
}

bool ModelFile::check_ports(Failure& failure) const {
  for (uint32_t i = 0; i < header_->inputs + header_->outputs; ++i) {
    if (!check_text(ports_[i].name, failure)) return false;
    if (ports_[i].value >= num_values()) return corrupt(failure, "inputs and outputs to be values");
    if (i < header_->inputs && values_[ports_[i].value].place != Place::kArena) {
      return corrupt(failure, "inputs in the arena");
    }
  }
  return true;
}

TensorView ModelFile::view(const ValueRecord& value, char* arena) const {
  char* base = value.place == Place::kFile ? const_cast<char*>(memory_) : arena;
  return {base + value.offset, static_cast<DType>(value.dtype),
          Shape(value.dims, static_cast<int>(value.rank))};
}

}  // namespace qanat::mobile
