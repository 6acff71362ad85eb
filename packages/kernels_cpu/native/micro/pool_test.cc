#include "packages/kernels_cpu/native/micro/pool.h"

#include <limits>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

int64_t input_size(const PoolShape& s) { return s.batch * s.in_height * s.in_width * s.channels; }
int64_t output_size(const PoolShape& s) {
  return s.batch * s.out_height * s.out_width * s.channels;
}

// Calls visit(output, inputs) with the indices of the values of each window.
template <typename Visit>
void for_each_window(const PoolShape& s, Visit visit) {
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y < s.out_height; ++y) {
      for (int64_t x = 0; x < s.out_width; ++x) {
        for (int64_t c = 0; c < s.channels; ++c) {
          std::vector<int64_t> inputs;
          for (int64_t h = 0; h < s.window_h; ++h) {
            for (int64_t w = 0; w < s.window_w; ++w) {
              const int64_t iy = y * s.stride_h - s.pad_top + h;
              const int64_t ix = x * s.stride_w - s.pad_left + w;
              if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
              inputs.push_back(((b * s.in_height + iy) * s.in_width + ix) * s.channels + c);
            }
          }
          visit(((b * s.out_height + y) * s.out_width + x) * s.channels + c, inputs);
        }
      }
    }
  }
}

template <typename T>
struct Results {
  std::vector<T> max, d_max, avg, d_avg;
};

template <typename T>
Results<double> expected(const PoolShape& s, const std::vector<T>& input,
                         const std::vector<T>& d_output) {
  Results<double> r;
  r.max.resize(output_size(s));
  r.avg = r.max;
  r.d_max.resize(input_size(s));
  r.d_avg = r.d_max;
  for_each_window(s, [&](int64_t out, const std::vector<int64_t>& inputs) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    int64_t at = -1;
    for (int64_t i : inputs) {
      sum += input[i];
      const bool first_nan = std::isnan(input[i]) && !std::isnan(largest);
      if (input[i] > largest || first_nan || at < 0) {
        largest = input[i];
        at = i;
      }
      r.d_avg[i] += static_cast<double>(d_output[out]) / static_cast<double>(inputs.size());
    }
    r.max[out] = largest;
    r.avg[out] = inputs.empty() ? 0 : sum / static_cast<double>(inputs.size());
    if (at >= 0) r.d_max[at] += d_output[out];
  });
  return r;
}

template <typename T>
Results<T> actual(const PoolShape& s, const std::vector<T>& input, const std::vector<T>& d_output,
                  int threads) {
  TestThreads parallel(threads);
  Results<T> r = {std::vector<T>(output_size(s), T{7}), std::vector<T>(input_size(s), T{7}),
                  std::vector<T>(output_size(s), T{7}), std::vector<T>(input_size(s), T{7})};
  max_pool(s, input.data(), r.max.data(), parallel);
  max_pool_backward(s, input.data(), r.max.data(), d_output.data(), r.d_max.data(), parallel);
  avg_pool(s, input.data(), r.avg.data(), parallel);
  avg_pool_backward(s, d_output.data(), r.d_avg.data(), parallel);
  return r;
}

template <typename T>
void check(Random& random, const PoolShape& s) {
  std::vector<T> input = random.vector<T>(input_size(s));
  for (T& x : input) {
    if (random.between(0, 1) == 0) x = static_cast<T>(random.between(-1, 1));  // ties
    if (random.between(0, 50) == 0) x = std::numeric_limits<T>::quiet_NaN();
  }
  const std::vector<T> d_output = random.vector<T>(output_size(s));
  const Results<double> e = expected(s, input, d_output);
  const Results<T> a = actual(s, input, d_output, 1);
  CHECK_EQ(worst_error(a.max, e.max), 0);
  CHECK_NEAR(worst_error(a.d_max, e.d_max), 0, tolerance<T>(25));
  CHECK_NEAR(worst_error(a.avg, e.avg), 0, tolerance<T>(25));
  CHECK_NEAR(worst_error(a.d_avg, e.d_avg), 0, tolerance<T>(25));
  const Results<T> two = actual(s, input, d_output, 2);
  CHECK(same_bits(a.max, two.max) && same_bits(a.d_max, two.d_max));
  CHECK(same_bits(a.avg, two.avg) && same_bits(a.d_avg, two.d_avg));
}

void check_all() {
  Random random;
  for (int i = 0; i < 200; ++i) {
    PoolShape s;
    s.batch = random.between(0, 5);
    s.in_height = random.between(0, 12);
    s.in_width = random.between(1, 12);
    s.out_height = random.between(0, 9);
    s.out_width = random.between(1, 9);
    s.channels = random.between(0, 40);
    s.window_h = random.between(1, 4);
    s.window_w = random.between(1, 4);
    s.stride_h = random.between(1, 3);
    s.stride_w = random.between(1, 3);
    s.pad_top = random.between(0, 3);
    s.pad_left = random.between(0, 3);
    check<float>(random, s);
    check<double>(random, s);
  }
  check<float>(random, {3, 28, 28, 14, 14, 128, 2, 2, 2, 2, 0, 0});
}

TEST(pools_and_gradients_agree_with_the_plain_loops) { for_each_level(check_all); }

}  // namespace
}  // namespace qanat::micro
