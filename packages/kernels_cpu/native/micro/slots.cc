#include "packages/kernels_cpu/native/micro/slots.h"

#include <algorithm>
#include <thread>

namespace qanat::micro {
namespace {

int count_for(int threads) { return std::clamp(threads, 1, Slots::kMost); }

// Never 0, so that slots have addresses of their own.
size_t size_for(size_t slot_bytes) { return aligned_bytes(std::max<size_t>(slot_bytes, 1)); }

}  // namespace

size_t Slots::bytes(size_t slot_bytes, int threads) {
  return size_for(slot_bytes) * static_cast<size_t>(count_for(threads));
}

Slots::Slots(void* scratch, size_t slot_bytes, int threads)
    : scratch_(static_cast<char*>(scratch)),
      slot_bytes_(size_for(slot_bytes)),
      free_(~uint64_t{0} >> (kMost - count_for(threads))) {}

void* Slots::borrow() {
  uint64_t free = free_.load(std::memory_order_relaxed);
  for (;;) {
    if (free == 0) {
      std::this_thread::yield();
      free = free_.load(std::memory_order_relaxed);
      continue;
    }
    const uint64_t lowest = free & (~free + 1);
    if (free_.compare_exchange_weak(free, free & ~lowest, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return scratch_ + static_cast<size_t>(__builtin_ctzll(lowest)) * slot_bytes_;
    }
  }
}

void Slots::give_back(void* slot) {
  const size_t index = static_cast<size_t>(static_cast<char*>(slot) - scratch_) / slot_bytes_;
  free_.fetch_or(uint64_t{1} << index, std::memory_order_release);
}

}  // namespace qanat::micro
