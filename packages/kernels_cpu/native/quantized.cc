// Conversion to and from quantised numbers, and their products: see ops/quantized.py.
#include <limits>

#include "packages/kernels_cpu/native/conv2d_sizes.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/micro/int8/products.h"
#include "packages/kernels_cpu/native/ranges.h"

namespace qanat::kernels_cpu {
namespace {

int32_t read_zero_point(KernelInit& init, const char* name) {
  const int64_t value = init.int_attr(name);
  if (value < -128 || value > 127) {
    init.invalid("expected %s from -128 to 127, got %lld", name, static_cast<long long>(value));
    return 0;
  }
  return static_cast<int32_t>(value);
}

float read_scale(KernelInit& init) {
  const double value = init.float_attr("scale");
  const bool valid = value > 0 && value <= std::numeric_limits<float>::max();
  const float scale = valid ? static_cast<float>(value) : 0;
  if (scale > 0) return scale;
  init.invalid("expected a positive scale that a float32 holds, got %g", value);
  return 1;
}

template <bool kToInt8>
class ConvertKernel final : public Kernel {
 public:
  explicit ConvertKernel(KernelInit& init)
      : scale_(read_scale(init)), zero_point_(read_zero_point(init, "zero_point")) {
    if (!expect_arity(init, 1, 1)) return;
    expect_dtype(init, 0, kToInt8 ? DType::kFloat32 : DType::kInt8, "the input");
    if (output_dtype(init, 0) != (kToInt8 ? DType::kInt8 : DType::kFloat32)) {
      init.invalid("expected an output of int8 or float32, got %s",
                   dtype_name(output_dtype(init, 0)));
    }
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    TensorView* out = context.output(0, in.shape);
    if (out == nullptr) return;
    for_ranges(context, in.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      if constexpr (kToInt8) {
        micro::int8_quantize(in.as<float>() + begin, end - begin, scale_, zero_point_,
                             out->as<int8_t>() + begin);
      } else {
        micro::int8_dequantize(in.as<int8_t>() + begin, end - begin, scale_, zero_point_,
                               out->as<float>() + begin);
      }
    });
  }

 private:
  float scale_;
  int32_t zero_point_;
};

// What becomes of the sums: inputs 2 to 4, and attributes.
class End {
 public:
  explicit End(KernelInit& init)
      : input_zero_point_(read_zero_point(init, "input_zero_point")),
        zero_point_(read_zero_point(init, "output_zero_point")),
        relu_(init.string_attr("activation") == "Relu") {
    if (!expect_arity(init, 5, 1)) return;
    for (int i = 0; i < 2; ++i) expect_dtype(init, i, DType::kInt8, "an operand");
    for (int i = 2; i < 5; ++i) expect_dtype(init, i, DType::kInt32, "bias, multiplier and shift");
    expect_output_dtype(init, 0, 0);
  }

  int32_t input_zero_point() const { return input_zero_point_; }

  // False, and a failure, where the vectors are not of `channels` elements that are in range.
  bool read(KernelContext& context, int64_t channels, micro::Int8End* end) const {
    constexpr const char* kNames[] = {"a bias", "a multiplier", "a shift"};
    for (int i = 0; i < 3; ++i) {
      if (!expect_vector(context, 2 + i, kNames[i], channels)) return false;
    }
    const int32_t* multiplier = context.input(3).as<int32_t>();
    const int32_t* shift = context.input(4).as<int32_t>();
    for (int64_t c = 0; c < channels; ++c) {
      if (multiplier[c] >= 0 && shift[c] >= 1 && shift[c] <= 62) continue;
      context.invalid(
          "expected a multiplier of 0 or more and a shift from 1 to 62, got %d and %d at %lld",
          static_cast<int>(multiplier[c]), static_cast<int>(shift[c]), static_cast<long long>(c));
      return false;
    }
    *end = {context.input(2).as<int32_t>(), multiplier, shift, zero_point_,
            relu_ ? zero_point_ : -128};
    return true;
  }

 private:
  int32_t input_zero_point_;
  int32_t zero_point_;
  bool relu_;
};

class Int8Conv2dKernel final : public Kernel {
 public:
  explicit Int8Conv2dKernel(KernelInit& init) : window_(init), end_(init) {}

  void compute(KernelContext& context) override {
    const TensorView &input = context.input(0), &filter = context.input(1);
    micro::Int8Conv2d conv{};
    Shape shape;
    if (!conv2d_sizes(context, window_, input.shape, filter.shape, &conv.shape, &shape)) return;
    if (!end_.read(context, conv.shape.out_channels, &conv.end)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    conv.input = input.as<int8_t>();
    conv.input_zero_point = end_.input_zero_point();
    conv.filter = filter.as<int8_t>();
    conv.output = out->as<int8_t>();
    void* scratch =
        context.scratch(micro::int8_conv2d_scratch_bytes(conv, context.parallel().threads()));
    if (scratch == nullptr) return;
    micro::int8_conv2d(conv, scratch, context.parallel());
  }

 private:
  Window window_;
  End end_;
};

class Int8MatMulKernel final : public Kernel {
 public:
  explicit Int8MatMulKernel(KernelInit& init) : end_(init) {}

  void compute(KernelContext& context) override {
    const TensorView &a = context.input(0), &b = context.input(1);
    if (!expect_rank(context, 0, 2, "a") || !expect_rank(context, 1, 2, "b")) return;
    if (a.dim(1) != b.dim(0)) {
      return context.invalid("expected inner dimensions to agree, got %s and %s",
                             text(a.shape).c_str(), text(b.shape).c_str());
    }
    micro::Int8Gemm gemm{};
    gemm.m = a.dim(0);
    gemm.n = b.dim(1);
    gemm.k = a.dim(1);
    if (!end_.read(context, gemm.n, &gemm.end)) return;
    Shape shape;
    if (!shape.add(gemm.m) || !shape.add(gemm.n)) {
      return context.invalid("expected a result of fewer than 2^63 elements");
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    gemm.a = a.as<int8_t>();
    gemm.a_zero_point = end_.input_zero_point();
    gemm.b = b.as<int8_t>();
    gemm.c = out->as<int8_t>();
    void* scratch =
        context.scratch(micro::int8_gemm_scratch_bytes(gemm, context.parallel().threads()));
    if (scratch == nullptr) return;
    micro::int8_gemm(gemm, scratch, context.parallel());
  }

 private:
  End end_;
};

}  // namespace

void register_quantized(KernelRegistry& registry) {
  registry.add<ConvertKernel<true>>("Int8Quantize", {});
  registry.add<ConvertKernel<false>>("Int8Dequantize", {});
  registry.add<Int8Conv2dKernel>("Int8Conv2D", {}, kExpensive);
  registry.add<Int8MatMulKernel>("Int8MatMul", {}, kExpensive);
}

}  // namespace qanat::kernels_cpu
