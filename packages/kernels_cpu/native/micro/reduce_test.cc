#include "packages/kernels_cpu/native/micro/reduce.h"

#include <limits>
#include <type_traits>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMean, Reduction::kMax,
                                     Reduction::kMin, Reduction::kProd};

template <typename T>
std::vector<T> values(Random& random, int64_t size, Reduction reduction) {
  std::vector<T> x(size);
  for (T& value : x) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(
          random.between(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      // Products stay near 1; sums are of one sign, so that their relative error says something.
      const T fraction = static_cast<T>(random.between(0, 1 << 20)) / (1 << 20);
      value = reduction == Reduction::kProd ? 1 + (fraction - T{0.5}) / 100 : fraction;
    }
  }
  return x;
}

template <typename T>
T limit(bool highest) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_integral_v<T>) {
    return highest ? Limits::max() : Limits::min();
  } else {
    return highest ? Limits::infinity() : -Limits::infinity();
  }
}

// In double, or for integers in the wrapping arithmetic of 64 bits.
template <typename T>
auto reduced(Reduction reduction, const T* x, int64_t count, int64_t stride) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  Wide sum = 0, product = 1;
  T largest = limit<T>(false), smallest = limit<T>(true);
  for (int64_t r = 0; r < count; ++r) {
    const T value = x[r * stride];
    sum += static_cast<Wide>(value);
    product *= static_cast<Wide>(value);
    if (!std::isnan(static_cast<double>(largest)) && !(value <= largest)) largest = value;
    if (!std::isnan(static_cast<double>(smallest)) && !(value >= smallest)) smallest = value;
  }
  using Result = std::conditional_t<std::is_integral_v<T>, T, double>;
  switch (reduction) {
    case Reduction::kSum:
      return static_cast<Result>(sum);
    case Reduction::kMean:
      if constexpr (std::is_integral_v<T>) {
        return count == 0 ? Result{0} : static_cast<Result>(static_cast<T>(sum) / count);
      } else {
        return static_cast<Result>(sum / static_cast<double>(count));
      }
    case Reduction::kMax:
      return static_cast<Result>(largest);
    case Reduction::kMin:
      return static_cast<Result>(smallest);
    case Reduction::kProd:
      break;
  }
  return static_cast<Result>(product);
}

template <typename T>
std::vector<T> actual(Reduction reduction, const ReduceShape& s, const std::vector<T>& x,
                      int threads) {
  TestThreads parallel(threads);
  std::vector<T> result(s.outer * s.inner, T{7});
  TestScratch scratch(reduce_scratch_bytes<T>(s));
  reduce(reduction, s, x.data(), result.data(), scratch.get(), parallel);
  CHECK(scratch.guard_is_whole());
  return result;
}

template <typename T>
void check(Random& random, const ReduceShape& s) {
  for (Reduction reduction : kReductions) {
    std::vector<T> x = values<T>(random, s.outer * s.reduced * s.inner, reduction);
    if (reduction == Reduction::kMax && std::is_floating_point_v<T> && random.between(0, 3) == 0) {
      for (T& value : x) {
        if (random.between(0, 30) == 0) value = std::numeric_limits<T>::quiet_NaN();
      }
    }
    const std::vector<T> a = actual(reduction, s, x, 1);
    std::vector<decltype(reduced(reduction, x.data(), 0, 1))> e;
    for (int64_t o = 0; o < s.outer; ++o) {
      for (int64_t i = 0; i < s.inner; ++i) {
        e.push_back(reduced(reduction, x.data() + o * s.reduced * s.inner + i, s.reduced, s.inner));
      }
    }
    // A sum of a million float32 values, one after the other, would be off by a thousand times
    // this.
    const double bound = std::is_integral_v<T>           ? 0
                         : reduction == Reduction::kProd ? tolerance<T>(s.reduced)
                                                         : tolerance<T>(16);
    CHECK_NEAR(worst_error(a, e), 0, bound);
    CHECK(same_bits(a, actual(reduction, s, x, 2)));
  }
}

template <typename T>
void check_type() {
  Random random;
  for (int64_t outer : {0, 1, 3}) {
    for (int64_t reduced : {0, 1, 2, 7, 64, 65, 200}) {
      for (int64_t inner : {0, 1, 2, 3, 5, 8, 17, 32, 33, 70}) {
        check<T>(random, {outer, reduced, inner});
      }
    }
  }
  check<T>(random, {1, 200000, 1});
  check<T>(random, {1, 5000, 33});
  check<T>(random, {3, 7, 20000});
  check<T>(random, {5000, 20, 1});
  check<T>(random, {2, 40000, 3});
}

// The rounding errors of equal terms all point the same way: one after the other, they would add up
// to a thousand times this bound.
void check_accuracy() {
  for (const ReduceShape& s : {ReduceShape{1, 300000, 1}, ReduceShape{1, 100000, 3},
                               ReduceShape{40, 8000, 2}, ReduceShape{40, 50000, 1}}) {
    const std::vector<float> x(s.outer * s.reduced * s.inner, 0.1f);
    const std::vector<double> e(s.outer * s.inner, static_cast<double>(0.1f) * s.reduced);
    CHECK_NEAR(worst_error(actual(Reduction::kSum, s, x, 1), e), 0, 1e-6);
  }
}

TEST(float_sums_are_accurate) { for_each_level(check_accuracy); }

TEST(reductions_agree_with_the_plain_loops) {
  for_each_level([] {
    check_type<float>();
    check_type<double>();
    check_type<int32_t>();
    check_type<int64_t>();
  });
}

}  // namespace
}  // namespace qanat::micro
