// The records of a model file: ../README.md has the format, ../model_format.py is the writer's
// twin. All numbers are little-endian, and records lie at multiples of 8.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FORMAT_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FORMAT_H_

#include <bit>
#include <cstdint>

#include "packages/core/native/kernel/tensor_view.h"

namespace qanat::mobile {

static_assert(std::endian::native == std::endian::little);

inline constexpr char kMagic[8] = {'Q', 'A', 'N', 'A', 'T', 'M', 'D', 'L'};
inline constexpr uint32_t kVersion = 1;

// The checksum is of all bytes from here on.
inline constexpr uint32_t kCheckedFrom = 16;

// The count of a shape attribute whose rank is unknown.
inline constexpr uint32_t kUnknownRank = 0xffffffff;

// Text in the file, followed by a zero byte that `size` does not count.
struct Span {
  uint32_t offset;
  uint32_t size;
};

struct HeaderRecord {
  char magic[8];
  uint32_t version;
  uint32_t checksum;
  uint64_t file_bytes;
  uint64_t arena_bytes;
  uint32_t values;
  uint32_t tensors;  // records behind those of the values: what tensor attributes hold
  uint32_t nodes;
  uint32_t attrs;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t edges;
  uint32_t reserved;
};

enum class Place : uint32_t { kArena = 0, kFile = 1 };

struct ValueRecord {
  Span name;
  uint32_t dtype;
  uint32_t rank;
  Place place;
  uint32_t reserved;
  uint64_t offset;
  int64_t dims[kMaxRank];
};

// Inputs and outputs are ranges of edges, attributes a range of attrs.
struct NodeRecord {
  Span name;
  Span op;
  uint32_t first_input, inputs;
  uint32_t first_output, outputs;
  uint32_t first_attr, attrs;
};

enum class Kind : uint32_t {
  kBool = 0,
  kInt = 1,
  kFloat = 2,
  kString = 3,
  kType = 4,
  kShape = 5,
  kTensor = 6,
  kInts = 7,
  kFloats = 8,
  kTypes = 9,
};

// The payload is the value itself or, for strings, shapes and lists, the offset of `count` bytes,
// dimensions or elements; for tensors an index.
struct AttrRecord {
  Span name;
  Kind kind;
  uint32_t count;
  uint64_t payload;
};

// A public input or output.
struct PortRecord {
  Span name;
  uint32_t value;
  uint32_t reserved;
};

static_assert(sizeof(HeaderRecord) == 64 && sizeof(ValueRecord) == 96 && sizeof(NodeRecord) == 40 &&
              sizeof(AttrRecord) == 24 && sizeof(PortRecord) == 16);

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_MODEL_FORMAT_H_
