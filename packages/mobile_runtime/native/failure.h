// What went wrong, in memory of its own: no heap.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_FAILURE_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_FAILURE_H_

#include <cstdarg>
#include <cstdio>

#include "packages/core/native/kernel/status.h"

namespace qanat::mobile {

class Failure {
 public:
  static constexpr int kMessageBytes = 640;

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const char* message() const { return message_; }

  // The first failure counts. Always false, so that a check ends with `return failure.set(...)`.
  __attribute__((format(printf, 3, 4))) bool set(StatusCode code, const char* format, ...) {
    if (!ok()) return false;
    code_ = code;
    va_list args;
    va_start(args, format);
    std::vsnprintf(message_, sizeof(message_), format, args);
    va_end(args);
    return false;
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  char message_[kMessageBytes] = {};
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_FAILURE_H_
