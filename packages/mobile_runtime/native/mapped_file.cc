#include "packages/mobile_runtime/native/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace qanat::mobile {
namespace {

bool cannot_read(const char* path, Failure& failure) {
  return failure.set(StatusCode::kNotFound, "expected a file to read, got \"%s\" (errno %d)", path,
                     errno);
}

}  // namespace

MappedFile::~MappedFile() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

bool MappedFile::open(const char* path, Failure& failure) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(path, failure);
  struct stat status = {};
  void* memory = MAP_FAILED;
  const bool known = fstat(descriptor, &status) == 0;
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (known && bytes > 0 && bytes <= SIZE_MAX) {
    memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  if (known && bytes == 0) return true;
  if (memory == MAP_FAILED) return cannot_read(path, failure);
  memory_ = memory;
  bytes_ = static_cast<size_t>(bytes);
  return true;
}

}  // namespace qanat::mobile
