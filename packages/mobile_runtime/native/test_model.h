// Model files in memory, for tests: what ../model_file.py writes, and what it never would.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_MODEL_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_MODEL_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "packages/mobile_runtime/native/model_format.h"

namespace qanat::mobile::testing {

// A file's bytes, exactly as many as it has, so that ASan sees every overrun; aligned.
class Image {
 public:
  explicit Image(const std::string& bytes);

  const void* data() const { return memory_.get(); }
  size_t size() const { return size_; }
  std::string bytes() const { return {static_cast<const char*>(memory_.get()), size_}; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_;
};

// Writes the checksum that a header of these bytes should have, where they are long enough.
void seal(std::string* bytes);

struct Attr {
  std::string name;
  Kind kind;
  uint64_t payload = 0;   // of kinds that have their value there
  std::string data = {};  // of the others
  uint32_t count = 0;
};
Attr bool_attr(const char* name, bool value);
Attr type_attr(const char* name, DType dtype);
Attr string_attr(const char* name, const char* text);
Attr int_attr(const char* name, int64_t value);
Attr shape_attr(const char* name, const std::vector<int64_t>& dims);
Attr ints_attr(const char* name, const std::vector<int64_t>& values);
Attr floats_attr(const char* name, const std::vector<double>& values);

class ModelBuilder {
 public:
  // Each gives the value's index. A place in the arena is the next that is free, or that of `at`.
  template <typename T>
  uint32_t constant(const Shape& shape, const std::vector<T>& elements) {
    const auto* bytes = reinterpret_cast<const char*>(elements.data());
    return add_value(dtype_of<T>, shape, Place::kFile, 0,
                     std::string(bytes, elements.size() * sizeof(T)));
  }
  uint32_t value(DType dtype, const Shape& shape);
  uint32_t value_at(DType dtype, const Shape& shape, uint64_t offset);
  uint64_t offset(uint32_t value) const { return values_[value].offset; }

  void node(const char* op, const std::vector<uint32_t>& inputs,
            const std::vector<uint32_t>& outputs, const std::vector<Attr>& attrs);
  void input(const char* name, uint32_t value) { inputs_.push_back({name, value}); }
  void output(const char* name, uint32_t value) { outputs_.push_back({name, value}); }

  std::string build() const;

 private:
  struct Value {
    DType dtype;
    Shape shape;
    Place place;
    uint64_t offset;
    std::string data;
  };
  struct Node {
    std::string op;
    std::vector<uint32_t> inputs, outputs;
    std::vector<Attr> attrs;
  };
  struct Port {
    std::string name;
    uint32_t value;
  };

  size_t sections_bytes() const;
  uint32_t add_value(DType dtype, const Shape& shape, Place place, uint64_t offset,
                     const std::string& data);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<Port> inputs_, outputs_;
  uint64_t arena_bytes_ = 0;
};

// x float32 [2,3] -> relu(x·w + b), its softmax; in all, two nodes that compute and a reshape.
std::string small_classifier();

// 8x8 images through a convolution, a pool, a reshape and a product: an op of each kind of LeNet's.
std::string small_lenet();

// Several pointwise ops as one program: tanh(x * 2 + y), float32 [2,3].
std::string small_program();

}  // namespace qanat::mobile::testing

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_TEST_MODEL_H_
