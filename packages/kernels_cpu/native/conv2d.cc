// Conv2D, with and without an epilogue, and its two gradients: NHWC maps, HWIO filters.
#include "packages/kernels_cpu/native/micro/conv2d.h"

#include "packages/kernels_cpu/native/conv2d_sizes.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/widened.h"

namespace qanat::kernels_cpu {
namespace {

// Conv2D, and _FusedConv2D: activation(Conv2D + bias).
template <bool kFused>
class Conv2dKernel final : public Kernel {
 public:
  explicit Conv2dKernel(KernelInit& init)
      : window_(init), relu_(kFused && init.string_attr("activation") == "Relu") {
    if (!expect_arity(init, kFused ? 3 : 2, 1)) return;
    expect_same_dtype(init, 0, kFused ? 2 : 1);
    expect_same_dtype(init, 0, 1);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &input = context.input(0), &filter = context.input(1);
    micro::Conv2dShape conv;
    Shape shape;
    if (!conv2d_sizes(context, window_, input.shape, filter.shape, &conv, &shape)) return;
    if (kFused && !expect_vector(context, 2, "a bias", conv.out_channels)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    if (input.num_elements() == 0 || filter.num_elements() == 0) return fill(context, *out);
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* maps = widened<C>(context, input);
      const C* weights = widened<C>(context, filter);
      const C* bias = kFused ? widened<C>(context, context.input(2)) : nullptr;
      const WidenedOutput<C> result(context, *out);
      void* scratch = context.scratch(
          micro::conv2d_forward_scratch_bytes<C>(conv, context.parallel().threads()));
      if (context.failed()) return;
      micro::conv2d_forward(conv, maps, weights, bias, relu_, result.data(), scratch,
                            context.parallel());
      result.commit();
    });
  }

 private:
  // What a convolution of nothing gives: zeros, with an epilogue the bias.
  void fill(KernelContext& context, const TensorView& out) const {
    if constexpr (!kFused) return zero_elements(out);
    visit_type<float, double>(out.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* bias = context.input(2).as<T>();
      for (int64_t i = 0; i < out.num_elements(); ++i) {
        const T value = bias[i % out.dim(3)];
        out.as<T>()[i] = relu_ && value < 0 ? T{0} : value;
      }
    });
  }

  Window window_;
  bool relu_;
};

// The gradient with respect to the input, or to the filter: of the two, one is what is computed and
// the node's input at its place holds its shape; the other is the operand. Input 2 is d_output.
template <bool kOfInput>
class Conv2dGradientKernel final : public Kernel {
 public:
  explicit Conv2dGradientKernel(KernelInit& init) : window_(init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_indices(init, kSizes, "sizes");
    expect_same_dtype(init, kOperand, 2);
    expect_output_dtype(init, 2, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &operand = context.input(kOperand), &d_output = context.input(2);
    Shape made, expected;
    micro::Conv2dShape conv;
    if (!read_shape(context, kSizes, "sizes", &made)) return;
    const Shape& input = kOfInput ? made : operand.shape;
    const Shape& filter = kOfInput ? operand.shape : made;
    if (!conv2d_sizes(context, window_, input, filter, &conv, &expected)) return;
    if (!(d_output.shape == expected)) {
      return context.invalid("expected out_backprop of shape %s, got %s", text(expected).c_str(),
                             text(d_output.shape).c_str());
    }
    TensorView* out = context.output(0, made);
    if (out == nullptr || made.num_elements() == 0) return;
    if (d_output.num_elements() == 0 || operand.num_elements() == 0) return zero_elements(*out);
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* given = widened<C>(context, operand);
      const C* gradient = widened<C>(context, d_output);
      const WidenedOutput<C> result(context, *out);
      const int threads = context.parallel().threads();
      void* scratch =
          context.scratch(kOfInput ? micro::conv2d_backward_input_scratch_bytes<C>(conv, threads)
                                   : micro::conv2d_backward_filter_scratch_bytes<C>(conv, threads));
      if (context.failed()) return;
      if constexpr (kOfInput) {
        micro::conv2d_backward_input(conv, gradient, given, result.data(), scratch,
                                     context.parallel());
      } else {
        micro::conv2d_backward_filter(conv, given, gradient, result.data(), scratch,
                                      context.parallel());
      }
      result.commit();
    });
  }

 private:
  static constexpr int kSizes = kOfInput ? 0 : 1;
  static constexpr int kOperand = 1 - kSizes;

  Window window_;
};

}  // namespace

void register_conv2d(KernelRegistry& registry) {
  constexpr DTypes kConvolved = kFloats | kHalves;
  add_each<Conv2dKernel<false>>(registry, "Conv2D", "T", kConvolved, kExpensive);
  add_each<Conv2dKernel<true>>(registry, "_FusedConv2D", "T", kFloats, kExpensive);
  add_each<Conv2dGradientKernel<true>>(registry, "Conv2DBackpropInput", "T", kConvolved,
                                       kExpensive);
  add_each<Conv2dGradientKernel<false>>(registry, "Conv2DBackpropFilter", "T", kConvolved,
                                        kExpensive);
}

}  // namespace qanat::kernels_cpu
