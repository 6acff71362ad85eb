// Softmax, its logarithm, the cross-entropy losses, and L2Loss.
#include "packages/kernels_cpu/native/micro/softmax.h"

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/widened.h"

namespace qanat::kernels_cpu {
namespace {

template <bool kLog>
class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& logits = context.input(0);
    if (logits.rank() == 0) {
      return context.invalid("expected logits of rank 1 or more, got a scalar");
    }
    constexpr int kLogits = 0;
    TensorView* out = context.output_reusing(0, logits.shape, &kLogits, 1);
    if (out == nullptr || logits.num_elements() == 0) return;
    const int64_t cols = logits.dim(logits.rank() - 1);
    const int64_t rows = logits.num_elements() / cols;
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* in = widened<C>(context, logits);
      const WidenedOutput<C> result(context, *out);
      if (context.failed()) return;
      if constexpr (kLog) {
        micro::log_softmax(rows, cols, in, result.data(), context.parallel());
      } else {
        micro::softmax(rows, cols, in, result.data(), context.parallel());
      }
      result.commit();
    });
  }
};

// Outputs: a loss a row, and the gradient for the logits.
class SoftmaxCrossEntropyKernel final : public Kernel {
 public:
  explicit SoftmaxCrossEntropyKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 2)) return;
    expect_same_dtype(init, 0, 1);
    expect_output_dtype(init, 0, 0);
    expect_output_dtype(init, 0, 1);
  }

  void compute(KernelContext& context) override {
    const TensorView& logits = context.input(0);
    if (!expect_rank(context, 0, 2, "logits") || !expect_same_shape(context, 0, 1)) return;
    TensorView* loss = context.output(0, Shape({logits.dim(0)}));
    constexpr int kLogits = 0;
    TensorView* gradient = context.output_reusing(1, logits.shape, &kLogits, 1);
    if (loss == nullptr || gradient == nullptr) return;
    visit_computed(logits.dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* in = widened<C>(context, logits);
      const C* labels = widened<C>(context, context.input(1));
      const WidenedOutput<C> losses(context, *loss), gradients(context, *gradient);
      if (context.failed()) return;
      micro::softmax_cross_entropy(logits.dim(0), logits.dim(1), in, labels, losses.data(),
                                   gradients.data(), context.parallel());
      losses.commit();
      gradients.commit();
    });
  }
};

class SparseSoftmaxCrossEntropyKernel final : public Kernel {
 public:
  explicit SparseSoftmaxCrossEntropyKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 2)) return;
    expect_indices(init, 1, "labels");
    expect_output_dtype(init, 0, 0);
    expect_output_dtype(init, 0, 1);
  }

  void compute(KernelContext& context) override {
    const TensorView &logits = context.input(0), &labels = context.input(1);
    if (!expect_rank(context, 0, 2, "logits")) return;
    if (!expect_vector(context, 1, "labels", logits.dim(0))) return;
    if (!check_indices(context, "labels", Indices(labels), logits.dim(1))) return;
    TensorView* loss = context.output(0, labels.shape);
    constexpr int kLogits = 0;
    TensorView* gradient = context.output_reusing(1, logits.shape, &kLogits, 1);
    if (loss == nullptr || gradient == nullptr) return;
    visit_computed(logits.dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* in = widened<C>(context, logits);
      const WidenedOutput<C> losses(context, *loss), gradients(context, *gradient);
      if (context.failed()) return;
      visit_type<int32_t, int64_t>(labels.dtype, [&](auto label_tag) {
        using L = typename decltype(label_tag)::type;
        micro::sparse_softmax_cross_entropy(logits.dim(0), logits.dim(1), in, labels.as<L>(),
                                            losses.data(), gradients.data(), context.parallel());
      });
      losses.commit();
      gradients.commit();
    });
  }
};

// Half the sum of squares. Summed in double, in lanes, chunk by chunk.
class L2LossKernel final : public Kernel {
 public:
  explicit L2LossKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    const int64_t chunks = (in.num_elements() + kGrain - 1) / kGrain;
    TensorView* out = context.output(0, Shape());
    double* partial = scratch_of<double>(context, chunks);
    if (out == nullptr || partial == nullptr) return;
    visit_reals(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_floating_point_v<T> || is_half<T>) {
        for_ranges(context, in.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
          partial[begin / kGrain] = sum_of_squares(in.as<T>() + begin, end - begin);
        });
        double sum = 0;
        for (int64_t i = 0; i < chunks; ++i) sum += partial[i];
        *out->as<T>() = T(static_cast<Computed<T>>(sum / 2));
      }
    });
  }

 private:
  template <typename T>
  static double sum_of_squares(const T* values, int64_t n) {
    constexpr int64_t kLanes = 16;
    double lanes[kLanes] = {};
    const auto square = [&](int64_t i) {
      const double value = static_cast<double>(static_cast<Computed<T>>(values[i]));
      return value * value;
    };
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += square(i + lane);
    }
    double sum = 0;
    for (; i < n; ++i) sum += square(i);
    for (double lane : lanes) sum += lane;
    return sum;
  }
};

}  // namespace

void register_softmax(KernelRegistry& registry) {
  constexpr DTypes kDTypes = kFloats | kHalves;
  add_each<SoftmaxKernel<false>>(registry, "Softmax", "T", kDTypes);
  add_each<SoftmaxKernel<true>>(registry, "LogSoftmax", "T", kDTypes);
  add_each<SoftmaxCrossEntropyKernel>(registry, "SoftmaxCrossEntropyWithLogits", "T", kDTypes);
  add_each<SparseSoftmaxCrossEntropyKernel>(registry, "SparseSoftmaxCrossEntropyWithLogits", "T",
                                            kDTypes);
  add_each<L2LossKernel>(registry, "L2Loss", "T", kDTypes);
}

}  // namespace qanat::kernels_cpu
