// Pieces of scratch for chunks that run at the same time.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_SLOTS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_SLOTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace qanat::micro {

inline constexpr size_t kScratchAlignment = 64;

// Rounds up to whole cache lines.
constexpr size_t aligned_bytes(size_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// Divides scratch into equal slots. A chunk of a Parallel loop borrows one while it runs: at most
// Parallel::threads() chunks run at once, so as many slots as threads suffice, and a slot that was
// just used, whose memory is still in the cache, is borrowed again. What a slot held is lost in
// between.
class Slots {
 public:
  // So many slots serve any number of threads: with more threads than that, some wait.
  static constexpr int kMost = 64;

  static size_t bytes(size_t slot_bytes, int threads);

  Slots(void* scratch, size_t slot_bytes, int threads);

  void* borrow();
  void give_back(void* slot);

 private:
  char* scratch_;
  size_t slot_bytes_;
  std::atomic<uint64_t> free_;  // one bit a slot
};

// A slot, borrowed for a scope.
class Slot {
 public:
  explicit Slot(Slots& slots) : slots_(slots), memory_(slots.borrow()) {}
  ~Slot() { slots_.give_back(memory_); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  void* get() const { return memory_; }

 private:
  Slots& slots_;
  void* memory_;
};

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_SLOTS_H_
