#include "packages/kernels_cpu/native/micro/int8/products.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

std::vector<int8_t> int8s(Random& random, int64_t size) {
  std::vector<int8_t> values(static_cast<size_t>(size));
  for (int8_t& value : values) value = static_cast<int8_t>(random.between(-128, 127));
  return values;
}

// Channels whose sums end within int8, beyond it, and at the limits of multiplier and shift.
struct Channels {
  Channels(Random& random, int64_t count, bool relu) {
    for (int64_t c = 0; c < count; ++c) {
      bias.push_back(static_cast<int32_t>(random.between(-100000, 100000)));
      multiplier.push_back(static_cast<int32_t>(random.between(0, INT32_MAX)));
      shift.push_back(static_cast<int32_t>(random.between(1, 62)));
      if (c % 2 == 0) shift.back() = static_cast<int32_t>(random.between(36, 42));
      if (c % 5 == 0) bias.back() = INT32_MAX;
      if (c % 7 == 0) multiplier.back() = INT32_MAX;
    }
    const int32_t zero_point = static_cast<int32_t>(random.between(-128, 127));
    end = {bias.data(), multiplier.data(), shift.data(), zero_point, relu ? zero_point : -128};
  }

  std::vector<int32_t> bias, multiplier, shift;
  Int8End end;
};

// As the formula says it, in wider arithmetic.
int8_t ended(const Int8End& end, int64_t sum, int64_t channel) {
  const auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(sum + end.bias[channel]));
  const __int128 product = static_cast<__int128>(wrapped) * end.multiplier[channel] * 2;
  const __int128 unit = static_cast<__int128>(1) << (end.shift[channel] + 1);
  __int128 quotient = (product + unit / 2) / unit;
  if ((product + unit / 2) % unit < 0) --quotient;
  const __int128 value = quotient + end.zero_point;
  return static_cast<int8_t>(value < end.least ? end.least : value > 127 ? 127 : value);
}

void check_gemm(Random& random, int64_t m, int64_t n, int64_t k) {
  const std::vector<int8_t> a = int8s(random, m * k), b = int8s(random, k * n);
  const Channels channels(random, n, random.between(0, 1) == 1);
  const int32_t zero = static_cast<int32_t>(random.between(-128, 127));
  std::vector<int8_t> expected;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += (a[i * k + p] - zero) * b[p * n + j];
      expected.push_back(ended(channels.end, sum, j));
    }
  }
  for (int threads : {1, 3}) {
    std::vector<int8_t> c(static_cast<size_t>(m * n), 99);
    const Int8Gemm gemm = {m, n, k, a.data(), zero, b.data(), c.data(), channels.end};
    TestThreads parallel(threads);
    TestScratch scratch(int8_gemm_scratch_bytes(gemm, threads));
    int8_gemm(gemm, scratch.get(), parallel);
    CHECK(c == expected);
    CHECK(scratch.guard_is_whole());
  }
}

TEST(gemm_gives_the_exact_bits) {
  simd::for_each_level([] {
    Random random;
    for (int64_t m : {0, 1, 2, 13, 14, 15, 600}) check_gemm(random, m, 33, 20);
    for (int64_t n : {0, 1, 10, 31, 32, 33, 65}) check_gemm(random, 3, n, 37);
    for (int64_t k : {0, 1, 2, 255, 256, 257, 1000}) check_gemm(random, 5, 40, k);
    check_gemm(random, 30, 400, 500);
  });
}

void check_conv2d(Random& random, const Conv2dShape& s) {
  const std::vector<int8_t> input =
      int8s(random, s.batch * s.in_height * s.in_width * s.in_channels);
  const std::vector<int8_t> filter =
      int8s(random, s.filter_height * s.filter_width * s.in_channels * s.out_channels);
  const Channels channels(random, s.out_channels, random.between(0, 1) == 1);
  const int32_t zero = static_cast<int32_t>(random.between(-128, 127));
  std::vector<int8_t> expected;
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t y = 0; y < s.out_height; ++y)
      for (int64_t x = 0; x < s.out_width; ++x)
        for (int64_t o = 0; o < s.out_channels; ++o) {
          int64_t sum = 0;
          for (int64_t h = 0; h < s.filter_height; ++h)
            for (int64_t w = 0; w < s.filter_width; ++w) {
              const int64_t iy = y * s.stride_h - s.pad_top + h * s.dilation_h;
              const int64_t ix = x * s.stride_w - s.pad_left + w * s.dilation_w;
              if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
              for (int64_t i = 0; i < s.in_channels; ++i) {
                const int64_t at = ((b * s.in_height + iy) * s.in_width + ix) * s.in_channels + i;
                const int64_t tap = (h * s.filter_width + w) * s.in_channels + i;
                sum += (input[at] - zero) * filter[tap * s.out_channels + o];
              }
            }
          expected.push_back(ended(channels.end, sum, o));
        }
  for (int threads : {1, 3}) {
    std::vector<int8_t> output(expected.size(), 99);
    const Int8Conv2d conv = {s, input.data(), zero, filter.data(), output.data(), channels.end};
    TestThreads parallel(threads);
    TestScratch scratch(int8_conv2d_scratch_bytes(conv, threads));
    int8_conv2d(conv, scratch.get(), parallel);
    CHECK(output == expected);
    CHECK(scratch.guard_is_whole());
  }
}

TEST(convolution_gives_the_exact_bits) {
  simd::for_each_level([] {
    Random random;
    // LeNet's two layers, then random ones: strides, dilations, paddings, odd channels, windows
    // that lie outside the map.
    check_conv2d(random, {1, 28, 28, 1, 5, 5, 28, 28, 32, 1, 1, 1, 1, 2, 2});
    check_conv2d(random, {2, 14, 14, 32, 5, 5, 14, 14, 64, 1, 1, 1, 1, 2, 2});
    check_conv2d(random, {1, 6, 5, 0, 3, 3, 4, 3, 4});
    check_conv2d(random, {0, 6, 5, 2, 3, 3, 4, 3, 4});
    for (int i = 0; i < 60; ++i) {
      Conv2dShape s = {random.between(1, 2), random.between(0, 9), random.between(0, 9),
                       random.between(1, 5), random.between(1, 4), random.between(1, 4),
                       random.between(1, 8), random.between(1, 8), random.between(1, 40)};
      s.stride_h = random.between(1, 3);
      s.stride_w = random.between(1, 3);
      s.dilation_h = random.between(1, 3);
      s.dilation_w = random.between(1, 2);
      s.pad_top = random.between(0, 12);
      s.pad_left = random.between(0, 12);
      check_conv2d(random, s);
    }
  });
}

TEST(sizes_beyond_memory_are_told) {
  const int64_t huge = (int64_t{1} << 31) - 1;
  Int8Conv2d conv{};
  conv.shape = {1, 1, 1, huge, huge, 2, 1, 1, 1, 1, 1, huge, huge, 0, 0};
  CHECK(int8_conv2d_scratch_bytes(conv, 2) >= SIZE_MAX / 2);
}

TEST(max_pool_takes_the_largest_inside_the_map) {
  simd::for_each_level([] {
    Random random;
    for (int i = 0; i < 40; ++i) {
      PoolShape s = {random.between(1, 2), random.between(1, 9), random.between(1, 9),
                     random.between(1, 6), random.between(1, 6), random.between(1, 70),
                     random.between(1, 3), random.between(1, 3), random.between(1, 3),
                     random.between(1, 3), random.between(0, 4), random.between(0, 4)};
      const std::vector<int8_t> input =
          int8s(random, s.batch * s.in_height * s.in_width * s.channels);
      std::vector<int8_t> expected;
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t y = 0; y < s.out_height; ++y)
          for (int64_t x = 0; x < s.out_width; ++x)
            for (int64_t c = 0; c < s.channels; ++c) {
              int8_t largest = -128;
              for (int64_t h = 0; h < s.window_h; ++h)
                for (int64_t w = 0; w < s.window_w; ++w) {
                  const int64_t iy = y * s.stride_h - s.pad_top + h;
                  const int64_t ix = x * s.stride_w - s.pad_left + w;
                  if (iy < 0 || iy >= s.in_height || ix < 0 || ix >= s.in_width) continue;
                  const int64_t at = ((b * s.in_height + iy) * s.in_width + ix) * s.channels + c;
                  largest = std::max(largest, input[at]);
                }
              expected.push_back(largest);
            }
      std::vector<int8_t> output(expected.size(), 99);
      TestThreads parallel(2);
      int8_max_pool(s, input.data(), output.data(), parallel);
      CHECK(output == expected);
    }
  });
}

TEST(conversion_rounds_halves_to_even_and_saturates) {
  simd::for_each_level([] {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {0.25f, 0.75f, -0.25f, 1e30f, -1e30f, std::nanf(""),
                                  inf,   -inf,  63.0f,  0.0f,  -0.0f,  -64.0f};
    const std::vector<int8_t> expected = {3, 5, 3, 127, -128, 3, 127, -128, 127, 3, 3, -125};
    std::vector<int8_t> q(x.size());
    int8_quantize(x.data(), static_cast<int64_t>(x.size()), 0.5f, 3, q.data());
    CHECK(q == expected);
    std::vector<float> back(q.size());
    int8_dequantize(q.data(), static_cast<int64_t>(q.size()), 0.5f, 3, back.data());
    for (size_t i = 0; i < q.size(); ++i) {
      CHECK(back[i] == 0.5f * static_cast<float>(q[i] - 3));
    }
  });
}

}  // namespace
}  // namespace qanat::micro
