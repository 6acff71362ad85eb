#include "packages/kernels_cpu/native/micro/gemm.h"

#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

struct Case {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  bool accumulate, bias, relu;
};

template <typename T>
struct Data {
  Data(Random& random, const Case& c)
      : a(random.vector<T>(c.m * c.k)),
        b(random.vector<T>(c.k * c.n)),
        bias(random.vector<T>(c.n)),
        c(random.vector<T>(c.m * row_stride(c))) {}

  // C lies in a wider matrix, whose other columns must not change.
  static int64_t row_stride(const Case& c) { return c.n + 3; }

  std::vector<T> a, b, bias, c;
};

template <typename T>
Gemm<T> gemm_of(const Case& c, const Data<T>& data, T* result) {
  return {c.m,
          c.n,
          c.k,
          {data.a.data(), c.transpose_a ? 1 : c.k, c.transpose_a ? c.m : 1},
          {data.b.data(), c.transpose_b ? 1 : c.n, c.transpose_b ? c.k : 1},
          result,
          Data<T>::row_stride(c),
          c.accumulate,
          c.bias ? data.bias.data() : nullptr,
          c.relu};
}

template <typename T>
std::vector<double> expected(const Case& c, const Data<T>& data) {
  std::vector<double> result(data.c.begin(), data.c.end());
  const Gemm<T> gemm = gemm_of<T>(c, data, nullptr);
  for (int64_t i = 0; i < c.m; ++i) {
    for (int64_t j = 0; j < c.n; ++j) {
      double& to = result[i * gemm.c_row_stride + j];
      double sum = c.accumulate ? to : 0;
      for (int64_t k = 0; k < c.k; ++k) {
        sum += static_cast<double>(gemm.a.data[i * gemm.a.row_stride + k * gemm.a.col_stride]) *
               gemm.b.data[k * gemm.b.row_stride + j * gemm.b.col_stride];
      }
      if (c.bias) sum += data.bias[j];
      to = c.relu && sum < 0 ? 0 : sum;
    }
  }
  return result;
}

template <typename T>
std::vector<T> actual(const Case& c, const Data<T>& data, int threads) {
  std::vector<T> result = data.c;
  const Gemm<T> problem = gemm_of(c, data, result.data());
  TestThreads parallel(threads);
  TestScratch scratch(gemm_scratch_bytes(problem, threads));
  gemm(problem, scratch.get(), parallel);
  CHECK(scratch.guard_is_whole());
  return result;
}

template <typename T>
void check(Random& random, const Case& c) {
  const Data<T> data(random, c);
  const std::vector<T> result = actual(c, data, 1);
  const double error = worst_error(result, expected(c, data));
  if (error > tolerance<T>(c.k)) {
    std::printf("m %d n %d k %d ta %d tb %d acc %d bias %d relu %d: error %g\n", int(c.m), int(c.n),
                int(c.k), c.transpose_a, c.transpose_b, c.accumulate, c.bias, c.relu, error);
  }
  CHECK(error <= tolerance<T>(c.k));
  CHECK(same_bits(result, actual(c, data, 2)));
}

void check_all() {
  Random random;
  for (int64_t m : {0, 1, 2, 5, 6, 7, 13, 14, 15, 29, 70}) {
    for (int64_t n : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64}) {
      for (int64_t k : {0, 1, 2, 9, 64}) {
        const int64_t flags = random.between(0, 31);
        const Case c = {m,
                        n,
                        k,
                        (flags & 1) != 0,
                        (flags & 2) != 0,
                        (flags & 4) != 0,
                        (flags & 8) != 0,
                        (flags & 16) != 0};
        check<float>(random, c);
        check<double>(random, c);
      }
    }
  }
  // Long and wide enough to be divided in each direction.
  for (int transposes = 0; transposes < 4; ++transposes) {
    const bool ta = (transposes & 1) != 0, tb = (transposes & 2) != 0;
    check<float>(random, {301, 203, 330, ta, tb, true, true, true});
    check<float>(random, {64, 200, 900, ta, tb, false, true, false});
    check<float>(random, {500, 130, 64, ta, tb, false, false, false});
    check<double>(random, {130, 150, 600, ta, tb, false, true, true});
    // Few rows, whose columns are divided, and do not fill their vectors at the end.
    check<float>(random, {2, 1055, 4200, ta, tb, true, true, true});
    check<double>(random, {1, 2100, 4200, ta, tb, false, false, true});
    check<float>(random, {2, 35, 64, ta, tb, false, true, true});
    check<float>(random, {1, 19, 0, ta, tb, false, true, false});
    for (int64_t m = 1; m <= 4; ++m)
      check<float>(random, {m, 527, 2100, ta, tb, true, true, false});
  }
  // The last part of the rows is one alone.
  check<float>(random, {211, 32, 4800, false, false, false, true, false});
  check<float>(random, {91, 16, 22000, false, false, true, false, false});
}

// In tiles that fill their vectors and in those that do not.
void relu_of_nan() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {nan, -1};
  for (int64_t n : {1, 64}) {
    const std::vector<float> b(n, 1.0f);
    std::vector<float> c(2 * n, 7.0f);
    Gemm<float> problem = {2, n, 1, {a, 1, 1}, {b.data(), n, 1}, c.data(), n};
    problem.relu = true;
    SerialParallel parallel;
    TestScratch scratch(gemm_scratch_bytes(problem, 1));
    gemm(problem, scratch.get(), parallel);
    for (int64_t j = 0; j < n; ++j) CHECK(std::isnan(c[j]) && c[n + j] == 0);
  }
}

TEST(gemm_agrees_with_the_plain_loops) { for_each_level(check_all); }

TEST(nan_passes_through_relu) { for_each_level(relu_of_nan); }

}  // namespace
}  // namespace qanat::micro
