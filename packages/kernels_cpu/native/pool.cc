// MaxPool and AvgPool over NHWC maps, with their gradients.
#include "packages/kernels_cpu/native/micro/pool.h"

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/micro/int8/products.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/widened.h"
#include "packages/kernels_cpu/native/window.h"

namespace qanat::kernels_cpu {
namespace {

// The attributes of a pool.
class Pool {
 public:
  explicit Pool(KernelInit& init) : window_(init) {
    read_spatial(init, "ksize", &height_, &width_);
  }

  // The sizes of the pool over maps of a shape, and the shape of its result.
  bool resolve(FailureSink& sink, const Shape& maps, micro::PoolShape* pool, Shape* pooled) const {
    if (maps.rank() != 4) {
      sink.invalid("expected maps of rank 4, got shape %s", text(maps).c_str());
      return false;
    }
    Placement rows, columns;
    if (!window_.place(sink, 0, maps[1], height_, &rows)) return false;
    if (!window_.place(sink, 1, maps[2], width_, &columns)) return false;
    *pool = {.batch = maps[0],
             .in_height = maps[1],
             .in_width = maps[2],
             .out_height = rows.positions,
             .out_width = columns.positions,
             .channels = maps[3],
             .window_h = height_,
             .window_w = width_,
             .stride_h = window_.axis(0).stride,
             .stride_w = window_.axis(1).stride,
             .pad_top = rows.pad_before,
             .pad_left = columns.pad_before};
    *pooled = Shape();
    for (int64_t dim : {maps[0], rows.positions, columns.positions, maps[3]}) {
      if (pooled->add(dim)) continue;
      sink.invalid("expected a result of fewer than 2^63 elements");
      return false;
    }
    return true;
  }

 private:
  Window window_;
  int64_t height_ = 1, width_ = 1;
};

bool expect_shape(KernelContext& context, int i, const Shape& expected) {
  const Shape& shape = context.input(i).shape;
  if (shape == expected) return true;
  context.invalid("expected input %d of shape %s, got %s", i, text(expected).c_str(),
                  text(shape).c_str());
  return false;
}

template <bool kMax>
class PoolKernel final : public Kernel {
 public:
  explicit PoolKernel(KernelInit& init) : pool_(init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& maps = context.input(0);
    micro::PoolShape pool;
    Shape shape;
    if (!pool_.resolve(context, maps.shape, &pool, &shape)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* in = widened<C>(context, maps);
      const WidenedOutput<C> result(context, *out);
      if (context.failed()) return;
      if constexpr (kMax) {
        micro::max_pool(pool, in, result.data(), context.parallel());
      } else {
        micro::avg_pool(pool, in, result.data(), context.parallel());
      }
      result.commit();
    });
  }

 private:
  Pool pool_;
};

// MaxPool of quantised numbers, which need no wider type.
class Int8MaxPoolKernel final : public Kernel {
 public:
  explicit Int8MaxPoolKernel(KernelInit& init) : pool_(init) {
    if (!expect_arity(init, 1, 1)) return;
    expect_dtype(init, 0, DType::kInt8, "the maps");
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& maps = context.input(0);
    micro::PoolShape pool;
    Shape shape;
    if (!pool_.resolve(context, maps.shape, &pool, &shape)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    micro::int8_max_pool(pool, maps.as<int8_t>(), out->as<int8_t>(), context.parallel());
  }

 private:
  Pool pool_;
};

// Inputs: the maps, their pool, and the gradient of the pool. `d_output` below is of the pool's
// shape.
class MaxPoolGradKernel final : public Kernel {
 public:
  explicit MaxPoolGradKernel(KernelInit& init) : pool_(init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_same_dtype(init, 0, 1);
    expect_same_dtype(init, 0, 2);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& maps = context.input(0);
    micro::PoolShape pool;
    Shape pooled;
    if (!pool_.resolve(context, maps.shape, &pool, &pooled)) return;
    if (!expect_shape(context, 1, pooled) || !expect_shape(context, 2, pooled)) return;
    TensorView* out = context.output(0, maps.shape);
    if (out == nullptr || maps.num_elements() == 0) return;
    if (pooled.num_elements() == 0) return zero_elements(*out);
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* in = widened<C>(context, maps);
      const C* output = widened<C>(context, context.input(1));
      const C* d_output = widened<C>(context, context.input(2));
      const WidenedOutput<C> result(context, *out);
      if (context.failed()) return;
      micro::max_pool_backward(pool, in, output, d_output, result.data(), context.parallel());
      result.commit();
    });
  }

 private:
  Pool pool_;
};

// The gradient of MaxPoolGrad for its last input: of each window, the gradient at its first
// maximum. Inputs: the maps, their pool, and a gradient of the maps' shape.
class MaxPoolGradGradKernel final : public Kernel {
 public:
  explicit MaxPoolGradGradKernel(KernelInit& init) : pool_(init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_same_dtype(init, 0, 1);
    expect_same_dtype(init, 0, 2);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &maps = context.input(0), &gradient = context.input(2);
    micro::PoolShape pool;
    Shape pooled;
    if (!pool_.resolve(context, maps.shape, &pool, &pooled)) return;
    if (!expect_shape(context, 1, pooled) || !expect_shape(context, 2, maps.shape)) return;
    TensorView* out = context.output(0, pooled);
    if (out == nullptr || pooled.num_elements() == 0) return;
    visit_reals(maps.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t rows = pool.batch * pool.out_height;
      const int64_t grain = row_grain(pool.out_width * pool.channels);
      for_ranges(context, rows, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          pick_row(pool, maps.as<T>(), gradient.as<T>(), row, out->as<T>());
        }
      });
    });
  }

 private:
  // The windows of output row `row`, counted over the batch.
  template <typename T>
  static void pick_row(const micro::PoolShape& pool, const T* maps, const T* gradient, int64_t row,
                       T* out) {
    const int64_t map = row / pool.out_height * pool.in_height * pool.in_width * pool.channels;
    for (int64_t x = 0; x < pool.out_width; ++x) {
      for (int64_t c = 0; c < pool.channels; ++c) {
        const int64_t at = first_maximum(pool, maps + map + c, row % pool.out_height, x);
        out[(row * pool.out_width + x) * pool.channels + c] =
            at < 0 ? T(Computed<T>{0}) : gradient[map + c + at];
      }
    }
  }

  // Where the first maximum (or NaN) of window (y, x) is, from the map's first element of the
  // channel.
  template <typename T>
  static int64_t first_maximum(const micro::PoolShape& pool, const T* map, int64_t y, int64_t x) {
    const int64_t top = y * pool.stride_h - pool.pad_top;
    const int64_t left = x * pool.stride_w - pool.pad_left;
    const int64_t bottom = std::min(top + pool.window_h, pool.in_height);
    const int64_t right = std::min(left + pool.window_w, pool.in_width);
    int64_t found = -1;
    Computed<T> best{};
    for (int64_t i = std::max<int64_t>(top, 0); i < bottom; ++i) {
      for (int64_t j = std::max<int64_t>(left, 0); j < right; ++j) {
        const int64_t at = (i * pool.in_width + j) * pool.channels;
        const auto value = static_cast<Computed<T>>(map[at]);
        const bool larger = value > best || (value != value && best == best);
        if (found >= 0 && !larger) continue;
        found = at;
        best = value;
      }
    }
    return found;
  }

  Pool pool_;
};

// Inputs: the shape of the maps, and the gradient of their pool.
class AvgPoolGradKernel final : public Kernel {
 public:
  explicit AvgPoolGradKernel(KernelInit& init) : pool_(init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_indices(init, 0, "a shape");
    expect_output_dtype(init, 1, 0);
  }

  void compute(KernelContext& context) override {
    Shape maps, pooled;
    micro::PoolShape pool;
    if (!read_shape(context, 0, "a shape", &maps)) return;
    if (!pool_.resolve(context, maps, &pool, &pooled)) return;
    if (!expect_shape(context, 1, pooled)) return;
    TensorView* out = context.output(0, maps);
    if (out == nullptr || maps.num_elements() == 0) return;
    if (pooled.num_elements() == 0) return zero_elements(*out);
    visit_computed(out->dtype, [&](auto tag) {
      using C = typename decltype(tag)::type;
      const C* d_output = widened<C>(context, context.input(1));
      const WidenedOutput<C> result(context, *out);
      if (context.failed()) return;
      micro::avg_pool_backward(pool, d_output, result.data(), context.parallel());
      result.commit();
    });
  }

 private:
  Pool pool_;
};

}  // namespace

void register_pool(KernelRegistry& registry) {
  // Those of 64 bits do not fit the types that pools are computed in.
  constexpr DTypes kWidened =
      kFloats | kHalves |
      DTypes{DType::kInt16, DType::kInt32, DType::kUInt8, DType::kUInt16, DType::kUInt32};
  constexpr DTypes kMaxPooled = kWidened | DTypes{DType::kInt8};
  constexpr DTypes kAvgPooled = kFloats | kHalves;
  add_each<PoolKernel<true>>(registry, "MaxPool", "T", kWidened);
  add_each<Int8MaxPoolKernel>(registry, "MaxPool", "T", {DType::kInt8});
  add_each<MaxPoolGradKernel>(registry, "MaxPoolGrad", "T", kMaxPooled);
  add_each<MaxPoolGradGradKernel>(registry, "MaxPoolGradGrad", "T", kMaxPooled);
  add_each<PoolKernel<false>>(registry, "AvgPool", "T", kAvgPooled);
  add_each<AvgPoolGradKernel>(registry, "AvgPoolGrad", "T", kAvgPooled);
}

}  // namespace qanat::kernels_cpu
