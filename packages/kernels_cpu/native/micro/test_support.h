// What the tests and benchmarks of the micro kernels share.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_TEST_SUPPORT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_TEST_SUPPORT_H_

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "packages/core/native/kernel/parallel.h"
#include "packages/kernels_cpu/native/simd/each_level.h"

namespace qanat::micro {

// Spreads the chunks over threads of its own, started anew each time: slow and plain.
class TestThreads final : public Parallel {
 public:
  explicit TestThreads(int threads) : threads_(threads) {}

  int threads() const override { return threads_; }

  void run(int64_t chunks, Body body, void* arg) override {
    std::atomic<int64_t> next{0};
    auto work = [&] {
      for (int64_t chunk; (chunk = next.fetch_add(1)) < chunks;) body(arg, chunk);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
  }

 private:
  const int threads_;
};

// Scratch that is full of NaN, with a guard behind it that shows whether a kernel wrote past its
// end.
class TestScratch {
 public:
  explicit TestScratch(size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuard, '\xff') {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    start_ = memory_.data() + (kGuard - address % kGuard) % kGuard;
  }

  void* get() { return start_; }

  bool guard_is_whole() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (start_[bytes_ + i] != '\xff') return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 64;
  const size_t bytes_;
  std::vector<char> memory_;
  char* start_;
};

class Random {
 public:
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  template <typename T>
  std::vector<T> vector(int64_t size) {
    std::uniform_real_distribution<T> uniform(-1, 1);
    std::vector<T> values(static_cast<size_t>(size));
    for (T& value : values) value = uniform(engine_);
    return values;
  }

 private:
  std::mt19937_64 engine_{20240229};
};

using simd::for_each_level;

// The largest difference from the expected values, in units of (1 + |expected|); infinity where one
// is NaN and the other is not.
template <typename T, typename U>
double worst_error(const std::vector<T>& actual, const std::vector<U>& expected) {
  if (actual.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]);
    const double e = static_cast<double>(expected[i]);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double error = std::abs(a - e) / (1 + std::abs(e));
    if (!(error <= worst))
      worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// How far a sum of `terms` products of values in [-1, 1] may be off.
template <typename T>
double tolerance(int64_t terms) {
  return 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) *
         (4 + std::sqrt(static_cast<double>(terms)) * 2);
}

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_TEST_SUPPORT_H_
