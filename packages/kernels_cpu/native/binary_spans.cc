#include "packages/kernels_cpu/native/binary_spans.h"

#include <algorithm>

namespace qanat::kernels_cpu {

void BinarySpans::run_halves(Reading reading, const void* a, const void* b, void* out,
                             int64_t n) const {
  float left[kHalfTile], right[kHalfTile], results[kHalfTile];
  const bool scalar_left = reading == kScalarLeft, scalar_right = reading == kScalarRight;
  const uint16_t* x = static_cast<const uint16_t*>(a);
  const uint16_t* y = static_cast<const uint16_t*>(b);
  for (int64_t i = 0; i < n; i += kHalfTile) {
    const int64_t count = std::min(kHalfTile, n - i);
    widen(dtype_, scalar_left ? x : x + i, left, scalar_left ? 1 : count);
    widen(dtype_, scalar_right ? y : y + i, right, scalar_right ? 1 : count);
    if (result_ == DType::kBool) {
      loops_[reading](left, right, static_cast<bool*>(out) + i, count, parameter_);
    } else {
      loops_[reading](left, right, results, count, parameter_);
      narrow(dtype_, results, static_cast<uint16_t*>(out) + i, count);
    }
  }
}

}  // namespace qanat::kernels_cpu
