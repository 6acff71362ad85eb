// Convolution and its input gradient, both as correlations.
#include "packages/kernels_cpu/native/micro/conv2d.h"

#include <numeric>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/correlation.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/micro/winograd.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(CorrelationTable, correlation_table)

namespace {

constexpr double kMultiplicationsPerChunk = 1e6;
constexpr int64_t kMostChunks = 32;

// Weights that are packed in one chunk, if there are several.
constexpr int64_t kWeightsPerChunk = 64 << 10;

const CorrelationKernels<float>& kernels_for(const Correlation<float>&) {
  return QANAT_SIMD_SELECT(correlation_table).f32;
}

const CorrelationKernels<double>& kernels_for(const Correlation<double>&) {
  return QANAT_SIMD_SELECT(correlation_table).f64;
}

template <typename T>
int64_t weight_steps(const Correlation<T>& c) {
  return c.h.taps * c.w.taps * c.source_channels;
}

template <typename T>
size_t packed_weights_bytes(const Correlation<T>& c) {
  const int64_t channels = round_up(c.channels, kernels_for(c).tile_cols);
  return aligned_bytes(static_cast<size_t>(weight_steps(c) * channels) * sizeof(T));
}

template <typename T>
int64_t row_chunks(const Correlation<T>& c, int64_t rows) {
  const double multiplications =
      static_cast<double>(c.batch) * static_cast<double>(c.h.count * c.w.count) *
      static_cast<double>(weight_steps(c)) * static_cast<double>(c.channels);
  const double wanted = multiplications / kMultiplicationsPerChunk;
  const int64_t chunks = wanted < kMostChunks ? static_cast<int64_t>(wanted) : kMostChunks;
  return max64(1, min64(rows, chunks));
}

template <typename T>
size_t slot_bytes(const Correlation<T>& c) {
  const CorrelationKernels<T>& kernels = kernels_for(c);
  const int64_t rows = kernels.row_count(c);
  return kernels.scratch_bytes(c, ceil_div(rows, row_chunks(c, rows)));
}

template <typename T>
size_t correlation_scratch_bytes(const Correlation<T>& c, int threads) {
  const size_t weights = packed_weights_bytes(c);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (winograd_pays(c)) return weights + winograd_scratch_bytes(c, threads);
  }
  return weights + Slots::bytes(slot_bytes(c), threads);
}

// The weights have been packed at the start of the scratch.
template <typename T>
void correlate(Correlation<T> c, void* scratch, Parallel& parallel) {
  const CorrelationKernels<T>& kernels = kernels_for(c);
  const int64_t rows = kernels.row_count(c);
  if (rows == 0 || c.w.count == 0 || c.channels == 0) return;
  c.weights = static_cast<const T*>(scratch);
  void* const rest = static_cast<char*>(scratch) + packed_weights_bytes(c);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (winograd_pays(c)) return winograd_correlate(c, rest, parallel);
  }
  Slots slots(rest, slot_bytes(c), parallel.threads());
  const int64_t chunks = row_chunks(c, rows);
  parallel.for_each(chunks, [&](int64_t chunk) {
    const Slot slot(slots);
    kernels.rows(c, part_of(rows, chunks, chunk), slot.get());
  });
}

// Calls pack(channel, to) for each panel of channels.
template <typename T, typename Pack>
void pack_panels(const Correlation<T>& c, void* scratch, Parallel& parallel, Pack pack) {
  const int64_t panel = kernels_for(c).tile_cols;
  const int64_t panels = ceil_div(c.channels, panel);
  const int64_t steps = weight_steps(c);
  if (panels == 0 || steps == 0) return;
  const int64_t chunks = max64(1, min64(panels, steps * c.channels / kWeightsPerChunk));
  parallel.for_each(chunks, [&](int64_t chunk) {
    const Range part = part_of(panels, chunks, chunk);
    for (int64_t p = part.begin; p < part.end; ++p) {
      pack(p * panel, static_cast<T*>(scratch) + p * panel * steps);
    }
  });
}

CorrelationAxis forward_axis(int64_t in, int64_t out, int64_t taps, int64_t stride,
                             int64_t dilation, int64_t pad) {
  return {in, out, stride, taps, -pad, dilation};
}

template <typename T>
Correlation<T> forward(const Conv2dShape& s, const T* input, const T* bias, bool relu, T* output) {
  const int64_t row = s.out_width * s.out_channels;
  return {
      s.batch,
      forward_axis(s.in_height, s.out_height, s.filter_height, s.stride_h, s.dilation_h, s.pad_top),
      forward_axis(s.in_width, s.out_width, s.filter_width, s.stride_w, s.dilation_w, s.pad_left),
      s.in_channels,
      s.out_channels,
      input,
      nullptr,
      output,
      s.out_height * row,
      row,
      s.out_channels,
      bias,
      relu};
}

// One axis of the gradient of the input pixels phase, phase + stride, phase + 2 * stride, ... The
// filter taps f that link them to output pixels are those with phase + pad - f * dilation divisible
// by the stride: an arithmetic sequence. They are taken from the last to the first, so that
// output pixels rise.
struct Phase {
  CorrelationAxis axis;
  int64_t last_filter_tap;  // that of tap 0
  int64_t filter_tap_step;  // downwards
};

Phase phase_of(int64_t phase, int64_t in, int64_t out, int64_t taps, int64_t stride,
               int64_t dilation, int64_t pad) {
  const int64_t divisor = std::gcd(stride, dilation);
  const int64_t step = stride / divisor;
  int64_t first = 0;
  while (first < min64(taps, step) && (phase + pad - first * dilation) % stride != 0) ++first;
  const bool linked = first < min64(taps, step);
  const int64_t count = linked ? ceil_div(taps - first, step) : 0;
  const int64_t last = first + (count - 1) * step;
  const int64_t first_source = linked ? (phase + pad - last * dilation) / stride : 0;
  return {{out, ceil_div(max64(0, in - phase), stride), 1, count, first_source, dilation / divisor},
          last,
          step};
}

template <typename T>
Correlation<T> backward(const Conv2dShape& s, const Phase& h, const Phase& w, int64_t phase_h,
                        int64_t phase_w, const T* d_output, T* d_input) {
  const int64_t row = s.in_width * s.in_channels;
  T* first = d_input == nullptr ? nullptr : d_input + phase_h * row + phase_w * s.in_channels;
  return {s.batch,
          h.axis,
          w.axis,
          s.out_channels,
          s.in_channels,
          d_output,
          nullptr,
          first,
          s.in_height * row,
          s.stride_h * row,
          s.stride_w * s.in_channels,
          nullptr,
          false};
}

// Calls run(correlation, h, w) for each phase of the input gradient.
template <typename T, typename Run>
void for_each_phase(const Conv2dShape& s, const T* d_output, T* d_input, Run run) {
  for (int64_t ph = 0; ph < min64(s.stride_h, s.in_height); ++ph) {
    const Phase h = phase_of(ph, s.in_height, s.out_height, s.filter_height, s.stride_h,
                             s.dilation_h, s.pad_top);
    for (int64_t pw = 0; pw < min64(s.stride_w, s.in_width); ++pw) {
      const Phase w = phase_of(pw, s.in_width, s.out_width, s.filter_width, s.stride_w,
                               s.dilation_w, s.pad_left);
      run(backward(s, h, w, ph, pw, d_output, d_input), h, w);
    }
  }
}

// The weights of a phase, from the taps of the filter in its order: what were the output's channels
// are steps now.
template <typename T>
void pack_phase(const Conv2dShape& s, const Correlation<T>& c, const Phase& h, const Phase& w,
                const T* filter, int64_t channel, T* to) {
  for (int64_t i = 0; i < c.h.taps; ++i) {
    for (int64_t j = 0; j < c.w.taps; ++j) {
      const int64_t fh = h.last_filter_tap - i * h.filter_tap_step;
      const int64_t fw = w.last_filter_tap - j * w.filter_tap_step;
      const T* from = filter + (fh * s.filter_width + fw) * s.in_channels * s.out_channels;
      to = kernels_for(c).pack_weights(from, s.out_channels, 1, s.out_channels, channel,
                                       s.in_channels, to);
    }
  }
}

}  // namespace

template <typename T>
size_t conv2d_forward_scratch_bytes(const Conv2dShape& shape, int threads) {
  return correlation_scratch_bytes(forward<T>(shape, nullptr, nullptr, false, nullptr), threads);
}

template <typename T>
void conv2d_forward(const Conv2dShape& shape, const T* input, const T* filter, const T* bias,
                    bool relu, T* output, void* scratch, Parallel& parallel) {
  const Correlation<T> c = forward(shape, input, bias, relu, output);
  pack_panels(c, scratch, parallel, [&](int64_t channel, T* to) {
    kernels_for(c).pack_weights(filter, weight_steps(c), c.channels, 1, channel, c.channels, to);
  });
  correlate(c, scratch, parallel);
}

template <typename T>
size_t conv2d_backward_input_scratch_bytes(const Conv2dShape& shape, int threads) {
  size_t most = 0;
  for_each_phase<T>(shape, nullptr, nullptr, [&](const Correlation<T>& c, auto&&...) {
    const size_t bytes = correlation_scratch_bytes(c, threads);
    most = bytes > most ? bytes : most;
  });
  return most;
}

template <typename T>
void conv2d_backward_input(const Conv2dShape& shape, const T* d_output, const T* filter, T* d_input,
                           void* scratch, Parallel& parallel) {
  for_each_phase(shape, d_output, d_input,
                 [&](const Correlation<T>& c, const Phase& h, const Phase& w) {
                   pack_panels(c, scratch, parallel, [&](int64_t channel, T* to) {
                     pack_phase(shape, c, h, w, filter, channel, to);
                   });
                   correlate(c, scratch, parallel);
                 });
}

template size_t conv2d_forward_scratch_bytes<float>(const Conv2dShape&, int);
template size_t conv2d_forward_scratch_bytes<double>(const Conv2dShape&, int);
template size_t conv2d_backward_input_scratch_bytes<float>(const Conv2dShape&, int);
template size_t conv2d_backward_input_scratch_bytes<double>(const Conv2dShape&, int);
template void conv2d_forward(const Conv2dShape&, const float*, const float*, const float*, bool,
                             float*, void*, Parallel&);
template void conv2d_forward(const Conv2dShape&, const double*, const double*, const double*, bool,
                             double*, void*, Parallel&);
template void conv2d_backward_input(const Conv2dShape&, const float*, const float*, float*, void*,
                                    Parallel&);
template void conv2d_backward_input(const Conv2dShape&, const double*, const double*, double*,
                                    void*, Parallel&);

}  // namespace qanat::micro
