// Text that crosses between a host and a kernel library.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_
#define PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_

#include <cstddef>
#include <string_view>

namespace qanat {

// A std::string_view whose layout is the same in each standard library: libstdc++ puts the size
// first, libc++ the pointer, and the two sides may be built with either.
struct Text {
  const char* data = nullptr;
  size_t size = 0;

  Text() = default;
  Text(std::string_view text) : data(text.data()), size(text.size()) {}  // NOLINT: a view of a view
  Text(const char* text) : Text(std::string_view(text)) {}               // NOLINT
  operator std::string_view() const { return {data, size}; }             // NOLINT
  friend bool operator==(Text a, std::string_view b) { return std::string_view(a) == b; }
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_
