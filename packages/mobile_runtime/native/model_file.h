// A model file in memory, checked once and then read without further checks.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FILE_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FILE_H_

#include <cstddef>
#include <string_view>

#include "packages/mobile_runtime/native/failure.h"
#include "packages/mobile_runtime/native/model_format.h"

namespace qanat::mobile {

class ModelFile {
 public:
  // `memory` is aligned to kAlignment and stays as it is while this is used. Whatever it holds,
  // after a true no accessor reads outside of it: every offset, count, index, dtype, rank, number
  // of elements and kind has been checked. Errors: kInvalidArgument for memory that is not aligned,
  // kUnimplemented for a newer version, kDataLoss for all else.
  bool open(const void* memory, size_t bytes, Failure& failure);

  const HeaderRecord& header() const { return *header_; }
  size_t arena_bytes() const { return static_cast<size_t>(header_->arena_bytes); }

  // Values, then the tensors of attributes.
  uint32_t num_values() const { return header_->values; }
  uint32_t num_tensors() const { return header_->tensors; }
  const ValueRecord& value(uint32_t i) const { return values_[i]; }
  uint32_t num_nodes() const { return header_->nodes; }
  const NodeRecord& node(uint32_t i) const { return nodes_[i]; }
  const AttrRecord* attrs(const NodeRecord& node) const { return attrs_ + node.first_attr; }
  // Indices of values.
  const uint32_t* edges() const { return edges_; }
  uint32_t num_edges() const { return header_->edges; }
  const PortRecord& input(uint32_t i) const { return ports_[i]; }
  const PortRecord& output(uint32_t i) const { return ports_[header_->inputs + i]; }

  // Ends with a zero byte.
  std::string_view text(Span span) const { return {memory_ + span.offset, span.size}; }
  const char* c_str(Span span) const { return memory_ + span.offset; }
  template <typename T>
  const T* list(const AttrRecord& attr) const {
    return reinterpret_cast<const T*>(memory_ + attr.payload);
  }

  // A value or tensor: its bytes are in the file or, counted from `arena`, there. Nobody writes to
  // those in the file, though a view cannot say so.
  TensorView view(const ValueRecord& value, char* arena) const;

 private:
  bool read_header(size_t bytes, Failure& failure);
  bool find_sections(Failure& failure);
  template <typename Record>
  bool find_section(const Record** records, uint64_t count, Failure& failure);
  bool check_value(const ValueRecord& value, bool in_file, Failure& failure) const;
  bool check_node(const NodeRecord& node, Failure& failure) const;
  bool check_attr(const AttrRecord& attr, Failure& failure) const;
  bool check_ports(Failure& failure) const;
  bool check_text(Span span, Failure& failure) const;
  bool holds(uint64_t offset, uint64_t bytes) const;

  const char* memory_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t found_ = 0;  // where the next section begins
  const HeaderRecord* header_ = nullptr;
  const ValueRecord* values_ = nullptr;
  const NodeRecord* nodes_ = nullptr;
  const AttrRecord* attrs_ = nullptr;
  const PortRecord* ports_ = nullptr;
  const uint32_t* edges_ = nullptr;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FILE_H_
