#include <cstdio>

#include "packages/kernels_cpu/native/micro/bench_support.h"
#include "packages/kernels_cpu/native/micro/gemm.h"

namespace qanat::micro {
namespace {

struct Product {
  const char* name;
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// Squares, and the three products of fully connected layers at several batch sizes.
constexpr Product kProducts[] = {
    {"128 cubed", 128, 128, 128, false, false},
    {"256 cubed", 256, 256, 256, false, false},
    {"512 cubed", 512, 512, 512, false, false},
    {"1024 cubed", 1024, 1024, 1024, false, false},
    {"LeNet fc1, 1 row", 1, 512, 3136, false, false},
    {"LeNet fc1, 2 rows", 2, 512, 3136, false, false},
    {"LeNet fc1, batch 64, forward", 64, 512, 3136, false, false},
    {"LeNet fc1, batch 64, input gradient", 64, 3136, 512, false, true},
    {"LeNet fc1, batch 64, weight gradient", 3136, 512, 64, true, false},
    {"LeNet fc1, batch 256, forward", 256, 512, 3136, false, false},
    {"LeNet fc1, batch 256, input gradient", 256, 3136, 512, false, true},
    {"LeNet fc1, batch 256, weight gradient", 3136, 512, 256, true, false},
    {"LeNet fc2, batch 64, forward", 64, 10, 512, false, false},
    {"LeNet fc2, batch 64, input gradient", 64, 512, 10, false, true},
    {"LeNet fc2, batch 64, weight gradient", 512, 10, 64, true, false},
    {"AlexNet fc6, batch 16, forward", 16, 4096, 9216, false, false},
    {"AlexNet fc6, batch 16, input gradient", 16, 9216, 4096, false, true},
    {"AlexNet fc6, batch 16, weight gradient", 9216, 4096, 16, true, false},
};

void measure(const Product& p, Parallel& parallel) {
  Random random;
  const std::vector<float> a = random.vector<float>(p.m * p.k);
  const std::vector<float> b = random.vector<float>(p.k * p.n);
  std::vector<float> c(static_cast<size_t>(p.m * p.n));
  const Gemm<float> problem = {p.m,
                               p.n,
                               p.k,
                               {a.data(), p.transpose_a ? 1 : p.k, p.transpose_a ? p.m : 1},
                               {b.data(), p.transpose_b ? 1 : p.n, p.transpose_b ? p.k : 1},
                               c.data(),
                               p.n};
  TestScratch scratch(gemm_scratch_bytes(problem, parallel.threads()));
  const double ms = median_ms(parallel.threads(), [&] { gemm(problem, scratch.get(), parallel); });
  print_speed(p.name, static_cast<double>(p.m) * p.n * p.k, ms);
}

}  // namespace
}  // namespace qanat::micro

int main(int argc, char** argv) {
  using namespace qanat::micro;
  TestThreads parallel(threads_argument(argc, argv));
  for (const Product& product : kProducts) measure(product, parallel);
  return 0;
}
