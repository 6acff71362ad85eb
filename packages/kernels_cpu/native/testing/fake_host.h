// The smallest host that can run a kernel: tensors on the heap, one node at a time.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_TESTING_FAKE_HOST_H_
#define PACKAGES_KERNELS_CPU_NATIVE_TESTING_FAKE_HOST_H_

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "packages/core/native/kernel/kernel.h"
#include "packages/core/native/kernel/registry.h"

namespace qanat::testing {

// A tensor with memory of its own, exactly as large as its elements so that ASan sees every
// overrun. Copies share the memory.
class Tensor {
 public:
  Tensor() = default;
  // All elements zero.
  Tensor(DType dtype, const Shape& shape);

  const TensorView& view() const { return view_; }
  TensorView* mutable_view() { return &view_; }
  DType dtype() const { return view_.dtype; }
  const Shape& shape() const { return view_.shape; }
  int64_t size() const { return view_.num_elements(); }
  template <typename T>
  T* data() const {
    return view_.as<T>();
  }
  template <typename T>
  std::vector<T> values() const {
    return std::vector<T>(data<T>(), data<T>() + size());
  }
  // The same memory under another shape with as many elements.
  Tensor reshaped(const Shape& shape) const;
  bool shared() const { return memory_.use_count() > 1; }

 private:
  std::shared_ptr<void> memory_;
  TensorView view_;
};

// Tensor of T with these values; the shape is a vector unless one is given.
template <typename T>
Tensor tensor(const std::vector<T>& values, const Shape& shape) {
  Tensor made(dtype_of<T>, shape);
  for (size_t i = 0; i < values.size(); ++i) made.data<T>()[i] = values[i];
  return made;
}
template <typename T>
Tensor vector(std::initializer_list<T> values) {
  return tensor<T>(std::vector<T>(values), Shape({static_cast<int64_t>(values.size())}));
}
template <typename T>
Tensor scalar(T value) {
  return tensor<T>({value}, Shape());
}

using Ints = std::vector<int64_t>;
using Attr = std::variant<int64_t, double, bool, std::string, DType, Shape, Ints,
                          std::vector<double>, Tensor>;
using Attrs = std::map<std::string, Attr>;

class Registry final : public KernelRegistry {
 public:
  // Holds all kernels of the library.
  Registry();
  using KernelRegistry::add;
  void add(const KernelDef& def) override { defs_.push_back(def); }
  const std::vector<KernelDef>& defs() const { return defs_; }
  // The kernel of the op whose constraints agree with these attrs, or, where an attr is not named,
  // with one of the dtypes; null if there is none.
  const KernelDef* find(const std::string& op, const std::vector<DType>& dtypes,
                        const Attrs& attrs = {}) const;

 private:
  std::vector<KernelDef> defs_;
};
const Registry& registry();

// What a variable's handle points to.
struct Variable {
  DType dtype = DType::kInvalid;
  bool initialized = false;
  Tensor value;
};

struct Result {
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::vector<Tensor> outputs;

  bool ok() const { return code == StatusCode::kOk; }
  bool says(const std::string& words) const { return message.find(words) != std::string::npos; }
};

// A kernel that is kept, to be run more than once.
class Node {
 public:
  Node(const KernelDef& def, std::vector<DType> inputs, std::vector<DType> outputs, Attrs attrs);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Whether the kernel accepted what it was built from.
  bool built() const;
  Kernel& kernel() { return *kernel_; }

  // Inputs given by value lend their buffers where nobody else holds them, as in the real host.
  Result run(std::vector<Tensor> inputs);

 private:
  class Init;
  class Context;
  std::unique_ptr<Init> init_;
  std::vector<DType> outputs_;
  void* memory_ = nullptr;
  Kernel* kernel_ = nullptr;
};

// Threads for the chunks of a kernel: run in reverse order, to find what depends on it.
Parallel& reversed_parallel();

// Runs one op once, with outputs of these dtypes; where none are named, with one of the dtype of
// the first input.
Result run(const std::string& op, std::vector<Tensor> inputs, Attrs attrs,
           std::vector<DType> outputs);
Result run(const std::string& op, std::vector<Tensor> inputs, Attrs attrs = {});

}  // namespace qanat::testing

#endif  // PACKAGES_KERNELS_CPU_NATIVE_TESTING_FAKE_HOST_H_
