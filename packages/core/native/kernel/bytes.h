// The element of a string tensor: any bytes, owned.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_BYTES_H_
#define PACKAGES_CORE_NATIVE_KERNEL_BYTES_H_

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace qanat {

// Memory comes from malloc, so that a string made in one shared object may be freed in another.
// All-zero memory is the empty string.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string_view text) { assign(text); }
  Bytes(const Bytes& other) { assign(other.view()); }
  Bytes(Bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Bytes& operator=(const Bytes& other) {
    if (this != &other) assign(other.view());
    return *this;
  }
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Bytes() { std::free(data_); }

  // `text` may not be part of this string. Out of memory ends in the empty string.
  void assign(std::string_view text) {
    char* data = text.empty() ? nullptr : static_cast<char*>(std::malloc(text.size()));
    if (data != nullptr) std::memcpy(data, text.data(), text.size());
    std::free(data_);
    data_ = data;
    size_ = data == nullptr ? 0 : text.size();
  }

  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }
  bool operator==(const Bytes& other) const { return view() == other.view(); }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_BYTES_H_
