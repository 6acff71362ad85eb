// CRC-32C, the checksum of checkpoints, events and records.
#ifndef PACKAGES_CORE_NATIVE_BASE_CRC32C_H_
#define PACKAGES_CORE_NATIVE_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace qanat {

// The CRC-32C (Castagnoli; RFC 3720, appendix B.4) of `before`'s bytes followed by `size` bytes at
// `data`, where `before` is the CRC-32C of what went before, 0 for nothing. Some 10 GB/s on one
// core where the CPU has an instruction for it, else 2 GB/s.
uint32_t crc32c(const void* data, size_t size, uint32_t before = 0);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BASE_CRC32C_H_
