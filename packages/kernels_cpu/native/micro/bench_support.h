// What the benchmarks of the micro kernels share.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_BENCH_SUPPORT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_BENCH_SUPPORT_H_

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {

// The median time of a run in milliseconds, over about a third of a second and at least 5 runs.
template <typename Run>
double median_ms(Run run) {
  using Clock = std::chrono::steady_clock;
  run();
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || (total < 300 && times.size() < 1000)) {
    const auto start = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

inline void print_speed(const char* name, double multiplications, double ms) {
  std::printf("%-44s %9.3f ms %7.1f GFLOP/s\n", name, ms, 2 * multiplications / ms / 1e6);
  std::fflush(stdout);
}

// Benchmarks take the number of threads as their argument, 1 by default.
inline int threads_argument(int argc, char** argv) { return argc > 1 ? std::atoi(argv[1]) : 1; }

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_BENCH_SUPPORT_H_
