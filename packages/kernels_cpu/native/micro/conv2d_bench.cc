#include <cstdio>
#include <string>

#include "packages/kernels_cpu/native/micro/bench_support.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"

namespace qanat::micro {
namespace {

struct Layer {
  const char* name;
  Conv2dShape shape;
};

constexpr Conv2dShape same(int64_t batch, int64_t size, int64_t in, int64_t out, int64_t taps) {
  return {batch, size, size, in, taps, taps, size, size, out, 1, 1, 1, 1, taps / 2, taps / 2};
}

constexpr Layer kLayers[] = {
    {"LeNet 1, batch 64", same(64, 28, 1, 32, 5)},
    {"LeNet 2, batch 64", same(64, 14, 32, 64, 5)},
    {"LeNet 1, batch 256", same(256, 28, 1, 32, 5)},
    {"LeNet 2, batch 256", same(256, 14, 32, 64, 5)},
    {"AlexNet 1, batch 16", {16, 224, 224, 3, 11, 11, 55, 55, 64, 4, 4, 1, 1, 2, 2}},
    {"AlexNet 2, batch 16", same(16, 27, 64, 192, 5)},
    {"AlexNet 3, batch 16", same(16, 13, 192, 384, 3)},
    {"VGG 2, batch 4", same(4, 112, 64, 128, 3)},
    {"VGG 5, batch 16", same(16, 14, 512, 512, 3)},
    {"1x1, 28x28, 64 to 64, batch 16", same(16, 28, 64, 64, 1)},
    {"3x3, 56x56, 16 to 16, batch 1", same(1, 56, 16, 16, 3)},
};

using Values = std::vector<float>;

void measure(const Layer& layer, Parallel& parallel) {
  const Conv2dShape& s = layer.shape;
  Random random;
  const Values input = random.vector<float>(s.batch * s.in_height * s.in_width * s.in_channels);
  const Values filter =
      random.vector<float>(s.filter_height * s.filter_width * s.in_channels * s.out_channels);
  const Values bias = random.vector<float>(s.out_channels);
  const Values d_output =
      random.vector<float>(s.batch * s.out_height * s.out_width * s.out_channels);
  Values output = d_output, d_input = input, d_filter = filter;
  const double multiplications = static_cast<double>(filter.size()) *
                                 static_cast<double>(s.batch * s.out_height * s.out_width);
  const int threads = parallel.threads();

  TestScratch forward(conv2d_forward_scratch_bytes<float>(s, threads));
  print_speed((std::string(layer.name) + ", forward").c_str(), multiplications,
              median_ms(threads, [&] {
                conv2d_forward(s, input.data(), filter.data(), bias.data(), true, output.data(),
                               forward.get(), parallel);
              }));
  TestScratch backward(conv2d_backward_input_scratch_bytes<float>(s, threads));
  if (s.in_channels > 3) {
    print_speed((std::string(layer.name) + ", input gradient").c_str(), multiplications,
                median_ms(threads, [&] {
                  conv2d_backward_input(s, d_output.data(), filter.data(), d_input.data(),
                                        backward.get(), parallel);
                }));
  }
  TestScratch weights(conv2d_backward_filter_scratch_bytes<float>(s, threads));
  print_speed((std::string(layer.name) + ", filter gradient").c_str(), multiplications,
              median_ms(threads, [&] {
                conv2d_backward_filter(s, input.data(), d_output.data(), d_filter.data(),
                                       weights.get(), parallel);
              }));
}

}  // namespace
}  // namespace qanat::micro

int main(int argc, char** argv) {
  using namespace qanat::micro;
  TestThreads parallel(threads_argument(argc, argv));
  const std::string only = argc > 2 ? argv[2] : "";
  for (const Layer& layer : kLayers) {
    if (std::string(layer.name).find(only) != std::string::npos) measure(layer, parallel);
  }
  return 0;
}
