#include "packages/kernels_cpu/native/micro/conv2d.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"
#include "packages/kernels_cpu/native/micro/winograd.h"

namespace qanat::micro {
namespace {

int64_t input_size(const Conv2dShape& s) {
  return s.batch * s.in_height * s.in_width * s.in_channels;
}
int64_t filter_size(const Conv2dShape& s) {
  return s.filter_height * s.filter_width * s.in_channels * s.out_channels;
}
int64_t output_size(const Conv2dShape& s) {
  return s.batch * s.out_height * s.out_width * s.out_channels;
}

// Calls visit(output, input, filter) with the index of each product's three elements.
template <typename Visit>
void for_each_product(const Conv2dShape& s, Visit visit) {
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t y = 0; y < s.out_height; ++y) {
      for (int64_t x = 0; x < s.out_width; ++x) {
        for (int64_t h = 0; h < s.filter_height; ++h) {
          for (int64_t w = 0; w < s.filter_width; ++w) {
            const int64_t iy = y * s.stride_h - s.pad_top + h * s.dilation_h;
            const int64_t ix = x * s.stride_w - s.pad_left + w * s.dilation_w;
            if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
            const int64_t out = ((b * s.out_height + y) * s.out_width + x) * s.out_channels;
            const int64_t in = ((b * s.in_height + iy) * s.in_width + ix) * s.in_channels;
            const int64_t tap = (h * s.filter_width + w) * s.in_channels;
            for (int64_t i = 0; i < s.in_channels; ++i) {
              for (int64_t o = 0; o < s.out_channels; ++o) {
                visit(out + o, in + i, (tap + i) * s.out_channels + o);
              }
            }
          }
        }
      }
    }
  }
}

struct Options {
  bool bias;
  bool relu;
};

template <typename T>
struct Data {
  Data(Random& random, const Conv2dShape& s)
      : input(random.vector<T>(input_size(s))),
        filter(random.vector<T>(filter_size(s))),
        bias(random.vector<T>(s.out_channels)),
        d_output(random.vector<T>(output_size(s))) {}
  std::vector<T> input, filter, bias, d_output;
};

template <typename T>
struct Results {
  std::vector<T> output, d_input, d_filter;
};

template <typename T>
Results<double> expected(const Conv2dShape& s, const Data<T>& data, Options options) {
  Results<double> r = {std::vector<double>(output_size(s)), std::vector<double>(input_size(s)),
                       std::vector<double>(filter_size(s))};
  for_each_product(s, [&](int64_t out, int64_t in, int64_t tap) {
    r.output[out] += static_cast<double>(data.input[in]) * data.filter[tap];
    r.d_input[in] += static_cast<double>(data.d_output[out]) * data.filter[tap];
    r.d_filter[tap] += static_cast<double>(data.d_output[out]) * data.input[in];
  });
  for (size_t i = 0; i < r.output.size(); ++i) {
    if (options.bias) r.output[i] += data.bias[i % s.out_channels];
    if (options.relu && r.output[i] < 0) r.output[i] = 0;
  }
  return r;
}

template <typename T>
Results<T> actual(const Conv2dShape& s, const Data<T>& data, Options options, int threads) {
  TestThreads parallel(threads);
  Results<T> r = {std::vector<T>(output_size(s), T{7}), std::vector<T>(input_size(s), T{7}),
                  std::vector<T>(filter_size(s), T{7})};
  TestScratch forward(conv2d_forward_scratch_bytes<T>(s, threads));
  conv2d_forward(s, data.input.data(), data.filter.data(),
                 options.bias ? data.bias.data() : nullptr, options.relu, r.output.data(),
                 forward.get(), parallel);
  CHECK(forward.guard_is_whole());
  TestScratch input(conv2d_backward_input_scratch_bytes<T>(s, threads));
  conv2d_backward_input(s, data.d_output.data(), data.filter.data(), r.d_input.data(), input.get(),
                        parallel);
  CHECK(input.guard_is_whole());
  TestScratch filter(conv2d_backward_filter_scratch_bytes<T>(s, threads));
  conv2d_backward_filter(s, data.input.data(), data.d_output.data(), r.d_filter.data(),
                         filter.get(), parallel);
  CHECK(filter.guard_is_whole());
  return r;
}

void print(const Conv2dShape& s) {
  std::printf(
      "batch %d in %dx%dx%d filter %dx%d out %dx%dx%d stride %d %d dilation %d %d pad %d %d\n",
      int(s.batch), int(s.in_height), int(s.in_width), int(s.in_channels), int(s.filter_height),
      int(s.filter_width), int(s.out_height), int(s.out_width), int(s.out_channels),
      int(s.stride_h), int(s.stride_w), int(s.dilation_h), int(s.dilation_w), int(s.pad_top),
      int(s.pad_left));
}

template <typename T>
bool is_winograd(const Conv2dShape& s) {
  return std::is_same_v<T, float> && winograd_pays(s);
}

template <typename T>
void check(Random& random, const Conv2dShape& s) {
  const Options options = {random.between(0, 1) != 0, random.between(0, 1) != 0};
  const Data<T> data(random, s);
  const Results<double> e = expected(s, data, options);
  const Results<T> a = actual(s, data, options, 1);
  const int64_t taps = s.filter_height * s.filter_width;
  const double more = is_winograd<T>(s) ? 3 : 1;
  const double forward =
      worst_error(a.output, e.output) / tolerance<T>(taps * s.in_channels) / more;
  const double input =
      worst_error(a.d_input, e.d_input) / tolerance<T>(taps * s.out_channels) / more;
  const double filter = worst_error(a.d_filter, e.d_filter) /
                        tolerance<T>(s.batch * s.out_height * s.out_width) / more;
  if (!(forward <= 1 && input <= 1 && filter <= 1)) {
    print(s);
    std::printf("errors / tolerance: forward %g input %g filter %g\n", forward, input, filter);
  }
  CHECK(forward <= 1);
  CHECK(input <= 1);
  CHECK(filter <= 1);
  const Results<T> two = actual(s, data, options, 2);
  CHECK(same_bits(a.output, two.output));
  CHECK(same_bits(a.d_input, two.d_input));
  CHECK(same_bits(a.d_filter, two.d_filter));
}

int64_t output_length(int64_t in, int64_t taps, int64_t stride, int64_t dilation, int64_t pads) {
  const int64_t reach = (taps - 1) * dilation + 1;
  return in + pads < reach ? 0 : (in + pads - reach) / stride + 1;
}

Conv2dShape random_shape(Random& random) {
  Conv2dShape s;
  s.batch = random.between(1, 9);
  s.in_height = random.between(1, 12);
  s.in_width = random.between(1, 12);
  s.in_channels = random.between(0, 3) == 0 ? random.between(1, 40) : random.between(1, 9);
  s.filter_height = random.between(1, 5);
  s.filter_width = random.between(1, 5);
  s.stride_h = random.between(1, 3);
  s.stride_w = random.between(1, 3);
  s.dilation_h = random.between(1, 3);
  s.dilation_w = random.between(0, 1) == 0 ? 1 : random.between(1, 3);
  s.pad_top = random.between(0, 4);
  s.pad_left = random.between(0, 4);
  s.out_channels = random.between(0, 3) == 0 ? random.between(1, 40) : random.between(1, 9);
  s.out_height = output_length(s.in_height, s.filter_height, s.stride_h, s.dilation_h,
                               s.pad_top + random.between(0, 4));
  s.out_width = output_length(s.in_width, s.filter_width, s.stride_w, s.dilation_w,
                              s.pad_left + random.between(0, 4));
  return s;
}

Conv2dShape same(int64_t batch, int64_t size, int64_t in, int64_t out, int64_t taps) {
  return {batch, size, size, in, taps, taps, size, size, out, 1, 1, 1, 1, taps / 2, taps / 2};
}

void check_all() {
  Random random;
  for (int i = 0; i < 200; ++i) {
    const Conv2dShape shape = random_shape(random);
    check<float>(random, shape);
    check<double>(random, shape);
  }
  // Those of LeNet, and some that are large enough for each way of dividing the work.
  check<float>(random, same(13, 28, 1, 32, 5));
  check<float>(random, same(13, 14, 32, 64, 5));
  check<float>(random, same(2, 14, 130, 50, 3));
  check<float>(random, same(16, 7, 200, 33, 1));
  check<float>(random, same(1, 9, 2, 3, 13));
  check<double>(random, same(3, 14, 32, 20, 5));
  check<float>(random, {16, 31, 31, 3, 11, 11, 6, 6, 24, 4, 4, 1, 1, 0, 0});
  check<float>(random, {3, 20, 20, 20, 3, 3, 20, 20, 24, 1, 1, 2, 2, 2, 2});
}

// The sizes that may be 0 each are.
void check_empty() {
  Random random;
  const Conv2dShape whole = same(2, 3, 2, 3, 3);
  for (int64_t Conv2dShape::* size :
       {&Conv2dShape::batch, &Conv2dShape::in_height, &Conv2dShape::in_width,
        &Conv2dShape::in_channels, &Conv2dShape::filter_height, &Conv2dShape::filter_width,
        &Conv2dShape::out_height, &Conv2dShape::out_width, &Conv2dShape::out_channels}) {
    Conv2dShape shape = whole;
    shape.*size = 0;
    check<float>(random, shape);
  }
}

// Of those that Winograd's method is for: maps that its tiles do not fill, any padding, channels
// that fill no vectors.
Conv2dShape random_winograd_shape(Random& random) {
  Conv2dShape s;
  s.batch = random.between(1, 5);
  s.filter_height = s.filter_width = random.between(0, 1) == 0 ? 3 : 5;
  s.in_height = random.between(5, 17);
  s.in_width = random.between(5, 17);
  s.in_channels = random.between(12, 70);
  s.out_channels = random.between(12, 70);
  s.pad_top = random.between(0, s.filter_height + 1);
  s.pad_left = random.between(0, s.filter_width + 1);
  s.out_height =
      output_length(s.in_height, s.filter_height, 1, 1, s.pad_top + random.between(0, 4));
  s.out_width = output_length(s.in_width, s.filter_width, 1, 1, s.pad_left + random.between(0, 4));
  return s;
}

void check_winograd() {
  Random random;
  int taken = 0;
  for (int i = 0; i < 30; ++i) {
    const Conv2dShape shape = random_winograd_shape(random);
    taken += winograd_pays(shape);
    check<float>(random, shape);
  }
  CHECK(taken > 15);
  // Several blocks of channels, and with several parts of the tiles.
  check<float>(random, same(2, 14, 70, 130, 3));
  check<float>(random, same(9, 19, 40, 70, 3));
}

// The largest error, in units of the largest result.
double relative_error(const std::vector<float>& actual, const std::vector<double>& expected) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    error = std::max(error, std::abs(actual[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

// What winograd.h promises.
void check_winograd_error() {
  Random random;
  for (const Conv2dShape& s : {same(6, 14, 32, 64, 5), same(6, 14, 64, 64, 3)}) {
    CHECK(winograd_pays(s));
    const Data<float> data(random, s);
    const Results<double> e = expected(s, data, {false, false});
    const Results<float> a = actual(s, data, {false, false}, 1);
    const double forward = relative_error(a.output, e.output);
    const double input = relative_error(a.d_input, e.d_input);
    const double filter = relative_error(a.d_filter, e.d_filter);
    std::printf("%dx%d: largest error / largest result: forward %.1e input %.1e filter %.1e\n",
                int(s.filter_height), int(s.filter_width), forward, input, filter);
    CHECK(forward < 2e-6);
    CHECK(input < 2e-6);
    CHECK(filter < 2e-6);
  }
}

// A NaN in one image spoils the pixels of its tiles in that image only; in the filter's gradient,
// its channel only.
void check_winograd_confines() {
  Random random;
  const Conv2dShape s = same(3, 14, 32, 64, 5);
  CHECK(winograd_pays(s));
  Data<float> data(random, s);
  const int64_t y = 7, x = 4, channel = 5, image = 1;
  data.input[((image * 14 + y) * 14 + x) * 32 + channel] = std::numeric_limits<float>::quiet_NaN();
  const Results<float> a = actual(s, data, {false, false}, 1);
  for (int64_t i = 0; i < output_size(s); ++i) {
    const int64_t at_x = i / 64 % 14, at_y = i / 64 / 14 % 14, at_image = i / 64 / 196;
    const int64_t distance = std::max(std::abs(at_x - x), std::abs(at_y - y));
    if (at_image != image || distance > 3) CHECK(std::isfinite(a.output[i]));
    if (at_image == image && distance <= 2) CHECK(std::isnan(a.output[i]));
  }
  for (int64_t i = 0; i < filter_size(s); ++i) {
    CHECK(std::isnan(a.d_filter[i]) == (i / 64 % 32 == channel));
  }
}

TEST(convolution_and_gradients_agree_with_the_plain_loops) { for_each_level(check_all); }

TEST(winograd_agrees_with_the_plain_loops) { for_each_level(check_winograd); }

TEST(winograd_is_as_exact_as_promised) { for_each_level(check_winograd_error); }

TEST(winograd_confines_what_is_not_finite) { for_each_level(check_winograd_confines); }

TEST(winograd_is_for_large_plain_convolutions_only) {
  CHECK(winograd_pays(same(64, 14, 32, 64, 5)));
  CHECK(winograd_pays(same(1, 14, 256, 256, 3)));
  CHECK(!winograd_pays(same(64, 28, 1, 32, 5)));
  CHECK(!winograd_pays(same(64, 14, 32, 64, 1)));
  CHECK(!winograd_pays(same(1, 2, 64, 64, 3)));
  Conv2dShape other = same(64, 14, 32, 64, 5);
  other.stride_w = 2;
  CHECK(!winograd_pays(other));
  other = same(64, 14, 32, 64, 5);
  other.dilation_h = 2;
  CHECK(!winograd_pays(other));
  other = same(64, 14, 32, 64, 5);
  other.filter_width = 3;
  CHECK(!winograd_pays(other));
}

TEST(any_size_may_be_zero) { for_each_level(check_empty); }

}  // namespace
}  // namespace qanat::micro
