// Tensors made of few numbers: Fill, ZerosLike, OnesLike, Range, OneHot.
#include <cmath>

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

class FillKernel final : public Kernel {
 public:
  explicit FillKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 1, 0);
    expect_indices(init, 0, "dims");
  }

  void compute(KernelContext& context) override {
    Shape shape;
    if (!read_shape(context, 0, "dims", &shape)) return;
    if (!expect_rank(context, 1, 0, "a value")) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr) return;
    visit_storage(out->dtype, [&](auto tag) {
      using E = typename decltype(tag)::type;
      const E& value = *context.input(1).as<E>();
      for_ranges(context, shape.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
        fill_run(value, out->as<E>() + begin, end - begin);
      });
    });
  }
};

class ZerosLikeKernel final : public Kernel {
 public:
  explicit ZerosLikeKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    constexpr int kInput = 0;
    TensorView* out = context.output_reusing(0, context.input(0).shape, &kInput, 1);
    if (out != nullptr) zero_elements(*out);
  }
};

class OnesLikeKernel final : public Kernel {
 public:
  explicit OnesLikeKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    constexpr int kInput = 0;
    TensorView* out = context.output_reusing(0, context.input(0).shape, &kInput, 1);
    if (out == nullptr) return;
    visit_number(out->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      fill_run(static_cast<T>(1.0f), out->as<T>(), out->num_elements());
    });
  }
};

// Numbers start, start + delta, ... before limit.
template <typename T>
class RangeKernel final : public Kernel {
 public:
  explicit RangeKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    for (int i = 0; i < 3; ++i) expect_dtype(init, i, dtype_of<T>, "start, limit and delta");
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    Computed<T> numbers[3];
    for (int i = 0; i < 3; ++i) {
      if (!expect_rank(context, i, 0, "start, limit and delta")) return;
      numbers[i] = static_cast<Computed<T>>(*context.input(i).as<T>());
    }
    const auto [start, limit, delta] = numbers;
    int64_t length = 0;
    if (!range_length(context, start, limit, delta, &length)) return;
    TensorView* out = context.output(0, Shape({length}));
    if (out == nullptr) return;
    T* to = out->as<T>();
    for_ranges(context, length, kGrain,
               [&, first = start, step = delta](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) to[i] = T(element(first, step, i));
               });
  }

 private:
  template <typename N>
  static N element(N start, N delta, int64_t i) {
    if constexpr (std::is_integral_v<N>) {
      return static_cast<N>(static_cast<uint64_t>(start) +
                            static_cast<uint64_t>(delta) * static_cast<uint64_t>(i));
    } else {
      return static_cast<N>(static_cast<double>(start) +
                            static_cast<double>(i) * static_cast<double>(delta));
    }
  }

  template <typename N>
  static bool range_length(FailureSink& sink, N start, N limit, N delta, int64_t* length) {
    if (delta == 0) {
      sink.invalid("expected a delta other than 0");
      return false;
    }
    if constexpr (std::is_integral_v<N>) {
      const uint64_t low = static_cast<uint64_t>(delta > 0 ? start : limit);
      const uint64_t high = static_cast<uint64_t>(delta > 0 ? limit : start);
      const uint64_t step =
          delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
      const bool some = delta > 0 ? start < limit : limit < start;
      const uint64_t count = some ? (high - low - 1) / step + 1 : 0;
      if (count <= static_cast<uint64_t>(INT64_MAX)) {
        *length = static_cast<int64_t>(count);
        return true;
      }
    } else {
      const double count = std::ceil((static_cast<double>(limit) - start) / delta);
      if (count < 0x1p62) {
        *length = count > 0 ? static_cast<int64_t>(count) : 0;
        return true;
      }
    }
    sink.invalid("expected finite numbers that give fewer than 2^62 elements");
    return false;
  }
};

// A new dimension `depth` at an axis, with on_value where its coordinate is the index.
class OneHotKernel final : public Kernel {
 public:
  explicit OneHotKernel(KernelInit& init) : axis_(init.int_attr("axis")) {
    if (!expect_arity(init, 4, 1)) return;
    if (input_dtype(init, 0) != DType::kUInt8) expect_indices(init, 0, "indices");
    expect_indices(init, 1, "a depth");
    expect_same_dtype(init, 2, 3);
    expect_output_dtype(init, 2, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int64_t depth = 0;
    int axis = 0;
    if (!read_scalar(context, 1, "a depth", &depth)) return;
    if (!expect_rank(context, 2, 0, "an on_value") || !expect_rank(context, 3, 0, "an off_value")) {
      return;
    }
    if (!resolve_axis(context, axis_, in.rank() + 1, &axis)) return;
    Shape shape;
    bool fits = true;
    for (int i = 0; i <= in.rank(); ++i) {
      fits = fits && shape.add(i == axis ? depth : in.dim(i < axis ? i : i - 1));
    }
    if (!fits) {
      return context.invalid("expected a depth >= 0 and fewer elements and dimensions, got %lld",
                             static_cast<long long>(depth));
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const int64_t inner = product(in.shape, axis, in.rank());
    visit_storage(out->dtype, [&](auto tag) {
      using E = typename decltype(tag)::type;
      const E& on = *context.input(2).as<E>();
      fill_run(*context.input(3).as<E>(), out->as<E>(), shape.num_elements());
      for (int64_t i = 0; i < in.num_elements(); ++i) {
        const int64_t index = in.dtype == DType::kUInt8 ? in.as<uint8_t>()[i] : Indices(in)[i];
        if (index < 0 || index >= depth) continue;
        out->as<E>()[(i / inner * depth + index) * inner + i % inner] = on;
      }
    });
  }

 private:
  int64_t axis_;
};

}  // namespace

void register_fill(KernelRegistry& registry) {
  add_each<FillKernel>(registry, "Fill", "T", kArrays);
  add_each<ZerosLikeKernel>(registry, "ZerosLike", "T", kArrays);
  add_each<OnesLikeKernel>(registry, "OnesLike", "T", kNumbers | kBools);
  registry.add<RangeKernel<float>>("Range", {{"Tidx", DType::kFloat32}});
  registry.add<RangeKernel<double>>("Range", {{"Tidx", DType::kFloat64}});
  registry.add<RangeKernel<int32_t>>("Range", {{"Tidx", DType::kInt32}});
  registry.add<RangeKernel<int64_t>>("Range", {{"Tidx", DType::kInt64}});
  registry.add<RangeKernel<Float16>>("Range", {{"Tidx", DType::kFloat16}});
  registry.add<RangeKernel<BFloat16>>("Range", {{"Tidx", DType::kBFloat16}});
  add_each<OneHotKernel>(registry, "OneHot", "T", kArrays);
}

}  // namespace qanat::kernels_cpu
