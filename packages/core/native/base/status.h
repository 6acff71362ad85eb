// The outcome of an operation of the host: a code and, where it failed, a message.
#ifndef PACKAGES_CORE_NATIVE_BASE_STATUS_H_
#define PACKAGES_CORE_NATIVE_BASE_STATUS_H_

#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include "packages/core/native/kernel/status.h"

namespace qanat {

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  std::string message;
  int node = -1;  // index of the node it happened at, -1 where it is nobody's

  bool ok() const { return code == StatusCode::kOk; }
};

inline Status error(StatusCode code, std::string message, int node = -1) {
  return Status{code, std::move(message), node};
}

// A string by printf's rules.
__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
  va_list args, again;
  va_start(args, pattern);
  va_copy(again, args);
  const int size = std::vsnprintf(nullptr, 0, pattern, args);
  va_end(args);
  std::string text(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BASE_STATUS_H_
