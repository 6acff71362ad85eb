// Text that crosses between a host and a kernel library.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_
#define PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace qanat {

// A std::string_view whose layout is the same in each standard library: libstdc++ puts the size
// first, libc++ the pointer, and the two sides may be built with either.
struct Text {
  const char* data = nullptr;
  size_t size = 0;

  Text() = default;
  template <typename T>
    requires std::is_convertible_v<const T&, std::string_view>
  Text(const T& text) {  // NOLINT: as a string_view is made, without a word
    const std::string_view view = text;
    data = view.data();
    size = view.size();
  }
  operator std::string_view() const { return {data, size}; }  // NOLINT
  friend bool operator==(Text a, std::string_view b) { return std::string_view(a) == b; }
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_TEXT_H_
