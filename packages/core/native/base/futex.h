// Waiting for a word of memory to change: the system's cheapest way to sleep, and the polite way to
// spin.
#ifndef PACKAGES_CORE_NATIVE_BASE_FUTEX_H_
#define PACKAGES_CORE_NATIVE_BASE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace qanat {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the system sees a plain word");

// Sleeps while *word == expected. May return early for no reason; 0 is no timeout.
inline void futex_wait(std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns = 0) {
  // What the call takes on every processor; a 32-bit C library's timespec is longer.
  struct {
    long s, ns;
  } timeout{static_cast<long>(timeout_ns / 1'000'000'000),
            static_cast<long>(timeout_ns % 1'000'000'000)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns > 0 ? &timeout : nullptr,
          nullptr, 0);
}

inline void futex_wake(std::atomic<uint32_t>* word, int count = INT_MAX) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Inside a loop that waits for another thread.
inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_BASE_FUTEX_H_
