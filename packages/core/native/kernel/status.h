// Error codes, the same numbers as gRPC's and as qanat.core.errors.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_STATUS_H_
#define PACKAGES_CORE_NATIVE_KERNEL_STATUS_H_

#include <cstdint>

namespace qanat {

enum class StatusCode : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_STATUS_H_
