// Images and labels in IDX files, as MNIST and its successors have them: two zero bytes, the
// element type (8: uint8), the number of dimensions, each as a big-endian uint32, then the
// elements. Source: LeCun, Cortes and Burges, "The MNIST database of handwritten digits".
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_IDX_FILE_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_IDX_FILE_H_

#include <cstdint>

#include "packages/mobile_runtime/native/mapped_file.h"

namespace qanat::mobile {

class IdxFile {
 public:
  // Once. Refuses what is no whole, uncompressed IDX file of uint8 with at least one dimension.
  bool open(const char* path, Failure& failure);

  uint64_t count() const { return count_; }            // of items, the first dimension
  uint64_t item_bytes() const { return item_bytes_; }  // the product of the others
  const uint8_t* item(uint64_t i) const { return elements_ + i * item_bytes_; }

 private:
  MappedFile file_;
  uint64_t count_ = 0;
  uint64_t item_bytes_ = 1;
  const uint8_t* elements_ = nullptr;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_IDX_FILE_H_
