#include "packages/kernels_cpu/native/simd/cpu_features.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace qanat::simd {
namespace {

constexpr int kUnknown = -1;
std::atomic<int> level_in_use{kUnknown};

#if defined(__x86_64__)

bool has_bits(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

// The register states that the operating system saves on a context switch.
uint64_t saved_states() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

// By hand and not by __builtin_cpu_supports, which answers no to everything under zig's clang.
Level detect() {
  constexpr uint64_t kXsaveAvxFma = (1u << 27) | (1u << 28) | (1u << 12);
  constexpr uint64_t kAvx2 = 1u << 5;
  constexpr uint64_t kAvx512FDqBwVl = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);
  constexpr uint64_t kYmmState = 0x06;
  constexpr uint64_t kZmmState = 0xe6;
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !has_bits(ecx, kXsaveAvxFma)) {
    return Level::kBaseline;
  }
  const uint64_t states = saved_states();
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !has_bits(ebx, kAvx2) ||
      !has_bits(states, kYmmState)) {
    return Level::kBaseline;
  }
  const bool avx512 = has_bits(ebx, kAvx512FDqBwVl) && has_bits(states, kZmmState);
  return avx512 ? Level::kAvx512 : Level::kAvx2;
}

#else

Level detect() { return Level::kBaseline; }

#endif

// The level that QANAT_CPU_ISA asks for, where the machine has it.
Level initial_level() {
  const Level highest = highest_level();
  const char* wanted = std::getenv("QANAT_CPU_ISA");
  if (wanted == nullptr) return highest;
  for (Level level : {Level::kBaseline, Level::kAvx2}) {
    if (level < highest && std::strcmp(wanted, level_name(level)) == 0) return level;
  }
  return highest;
}

}  // namespace

const char* level_name(Level level) {
  switch (level) {
    case Level::kAvx512:
      return "avx512";
    case Level::kAvx2:
      return "avx2";
    case Level::kBaseline:
      break;
  }
  return "baseline";
}

Level highest_level() {
  static const Level highest = detect();
  return highest;
}

Level level() {
  int current = level_in_use.load(std::memory_order_relaxed);
  if (current == kUnknown) {
    current = static_cast<int>(initial_level());
    level_in_use.store(current, std::memory_order_relaxed);
  }
  return static_cast<Level>(current);
}

bool set_level(Level level) {
  if (level > highest_level()) return false;
  level_in_use.store(static_cast<int>(level), std::memory_order_relaxed);
  return true;
}

}  // namespace qanat::simd
