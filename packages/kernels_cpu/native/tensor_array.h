// The resource behind a TensorArray's handle.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_TENSOR_ARRAY_H_
#define PACKAGES_KERNELS_CPU_NATIVE_TENSOR_ARRAY_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/kernel/kernel.h"
#include "packages/core/native/kernel/resource.h"

namespace qanat::kernels_cpu {

// A kept value with the reference to it.
class Kept {
 public:
  Kept() = default;
  explicit Kept(KeptValue* value) : value_(value) {}
  Kept(const Kept& other) : value_(other.value_) {
    if (value_ != nullptr) value_->ref();
  }
  Kept(Kept&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Kept& operator=(Kept other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Kept() {
    if (value_ != nullptr) value_->unref();
  }
  explicit operator bool() const { return value_ != nullptr; }
  KeptValue* get() const { return value_; }
  const TensorView& view() const { return value_->view(); }

 private:
  KeptValue* value_ = nullptr;
};

// What every element has to have.
struct ElementRule {
  DType dtype = DType::kInvalid;
  bool known_rank = false;
  std::vector<int64_t> dims;  // -1: any

  bool admits(const Shape& shape) const;
  // The one shape that is admitted; false where there are several.
  bool only(Shape* shape) const;
};

struct TensorArrayOptions {
  ElementRule rule;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool sums = false;  // an array of gradients: writes add up, and what is not written is zero
  std::string name;
};

// Thread-safe. Methods with a context say in it what is wrong, and are false then.
class TensorArray final : public Resource {
 public:
  static constexpr const char* kKind = "TensorArray";
  static constexpr int64_t kMostElements = int64_t{1} << 22;

  // 0 <= size <= kMostElements.
  TensorArray(int64_t size, TensorArrayOptions options);
  const char* kind() const override { return kKind; }

  DType dtype() const { return options_.rule.dtype; }
  int64_t size();
  // The shape that all elements have to have; false where several are possible.
  bool element_shape(Shape* shape);
  bool write(KernelContext& context, int64_t index, Kept value);
  bool read(KernelContext& context, int64_t index, Kept* value);
  // The array of gradients by that name, made on first use; the caller gets a reference.
  TensorArray* gradient(const std::string& source);
  void clear();

 private:
  struct Element {
    Kept value;
    std::unique_ptr<Shape> shape;  // of what was written, also once it is dropped
    bool dropped = false;
  };

  ~TensorArray() override;
  bool check(KernelContext& context, int64_t index, const TensorView& value);
  bool grow(KernelContext& context, int64_t size);
  bool zeros(KernelContext& context, int64_t index, Kept* value) const;

  std::mutex mutex_;  // guards what follows
  TensorArrayOptions options_;
  std::vector<Element> elements_;
  std::map<std::string, TensorArray*> gradients_;
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_TENSOR_ARRAY_H_
