// What the benchmarks of the micro kernels share.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_BENCH_SUPPORT_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_BENCH_SUPPORT_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {

// Seconds: of the clock on the wall, or, with one thread, of the processor, which other programs
// disturb less.
inline double seconds(int threads) {
  timespec now;
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The median time of a run in milliseconds, over about a third of a second and at least 5 runs.
template <typename Run>
double median_ms(int threads, Run run) {
  run();
  std::vector<double> times;
  double total = 0;
  while (times.size() < 5 || (total < 300 && times.size() < 1000)) {
    const double start = seconds(threads);
    run();
    times.push_back((seconds(threads) - start) * 1e3);
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
