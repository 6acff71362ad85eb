// A file mapped into memory, to be read.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_MAPPED_FILE_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_MAPPED_FILE_H_

#include <cstddef>

#include "packages/mobile_runtime/native/failure.h"

namespace qanat::mobile {

class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Once. An empty file has no memory.
  bool open(const char* path, Failure& failure);

  const void* memory() const { return memory_; }
  size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_MAPPED_FILE_H_
