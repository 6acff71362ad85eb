// Tells AddressSanitizer which parts of an arena hold nothing, so that it finds overruns and uses
// after free there as it does in malloc's memory. Costs nothing in other builds.
#ifndef PACKAGES_CORE_NATIVE_BASE_POISON_H_
#define PACKAGES_CORE_NATIVE_BASE_POISON_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define QANAT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QANAT_ASAN 1
#endif
#endif

#ifdef QANAT_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace qanat {

inline void poison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t bytes) {
#ifdef QANAT_ASAN
  ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* memory, [[maybe_unused]] size_t bytes) {
#ifdef QANAT_ASAN
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BASE_POISON_H_
