#include "packages/mobile_runtime/native/idx_file.h"

namespace qanat::mobile {

bool IdxFile::open(const char* path, Failure& failure) {
  if (!file_.open(path, failure)) return false;
  const auto* const bytes = static_cast<const uint8_t*>(file_.memory());
  const uint64_t size = file_.bytes();
  const uint64_t rank = size >= 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 8 ? bytes[3] : 0;
  const uint64_t start = 4 + 4 * rank;
  bool right = rank > 0 && size >= start;
  uint64_t elements = 1;
  for (uint64_t i = 0; right && i < rank; ++i) {
    uint64_t dim = 0;
    for (int b = 0; b < 4; ++b) dim = dim << 8 | bytes[4 + 4 * i + static_cast<uint64_t>(b)];
    right = !__builtin_mul_overflow(elements, dim, &elements);
    if (i == 0) {
      count_ = dim;
    } else {
      right = right && !__builtin_mul_overflow(item_bytes_, dim, &item_bytes_);
    }
  }
  if (!right || size - start != elements) {
    return failure.set(StatusCode::kDataLoss, "expected an uncompressed IDX file of uint8, got %s",
                       path);
  }
  elements_ = bytes + start;
  return true;
}

}  // namespace qanat::mobile
