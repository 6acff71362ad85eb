// Making tensors larger: Pad and PadV2, Tile, BroadcastTo.
#include "packages/kernels_cpu/native/broadcast.h"
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/strided_copy.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// Pad has no third input: it pads with zeros.
class PadKernel final : public Kernel {
 public:
  explicit PadKernel(KernelInit& init) : has_value_(init.num_inputs() == 3) {
    if (!expect_arity(init, has_value_ ? 3 : 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "paddings");
    if (has_value_) expect_same_dtype(init, 0, 2);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    Shape shape;
    if (!padded_shape(context, &shape)) return;
    if (has_value_ && !expect_rank(context, 2, 0, "what to pad with")) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    if (in.num_elements() < shape.num_elements()) fill(context, *out);
    if (in.num_elements() == 0) return;
    const Indices paddings(context.input(1));
    StridedPart part;
    part.count = in.num_elements();
    for (int axis = 0; axis < in.rank(); ++axis) {
      const int64_t inner = product(shape, axis + 1, shape.rank());
      part.start += paddings[2 * axis] * inner;
      part.walk.append(in.dim(axis), {inner});
    }
    copy_to_part(context, in, *out, part);
  }

 private:
  static bool padded_shape(KernelContext& context, Shape* shape) {
    const TensorView& in = context.input(0);
    const Shape& given = context.input(1).shape;
    if (given.rank() != 2 || given[0] != in.rank() || given[1] != 2) {
      context.invalid("expected paddings of shape [%d,2], got %s", in.rank(), text(given).c_str());
      return false;
    }
    const Indices paddings(context.input(1));
    for (int axis = 0; axis < in.rank(); ++axis) {
      const int64_t before = paddings[2 * axis], after = paddings[2 * axis + 1];
      int64_t dim = 0;
      if (before >= 0 && after >= 0 && !__builtin_add_overflow(before, after, &dim) &&
          !__builtin_add_overflow(dim, in.dim(axis), &dim) && shape->add(dim)) {
        continue;
      }
      context.invalid(
          "expected paddings >= 0 and fewer than 2^63 elements, got %lld and %lld at dimension %d",
          static_cast<long long>(before), static_cast<long long>(after), axis);
      return false;
    }
    return true;
  }

  void fill(KernelContext& context, const TensorView& out) const {
    if (!has_value_) return zero_elements(out);
    visit_storage(out.dtype, [&](auto tag) {
      using E = typename decltype(tag)::type;
      const E& value = *context.input(2).as<E>();
      for_ranges(context, out.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
        fill_run(value, out.as<E>() + begin, end - begin);
      });
    });
  }

  bool has_value_;
};

// out = the elements of `in` in the order of the walk, which has as many positions as out elements.
// Along an innermost dimension of stride 0 an element repeats.
void copy_repeating(KernelContext& context, const TensorView& in, const StridedWalk<1>& walk,
                    const TensorView& out) {
  visit_storage(in.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    const E* from = in.as<E>();
    E* to = out.as<E>();
    const bool repeats = walk.inner_stride(0) == 0;
    for_ranges(context, out.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      walk.for_runs(begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
        if (repeats) return fill_run(from[offsets[0]], to + at, count);
        copy_run(from + offsets[0], to + at, count);
      });
    });
  });
}

class TileKernel final : public Kernel {
 public:
  explicit TileKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "multiples");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (!expect_vector(context, 1, "multiples", in.rank())) return;
    const Indices multiples(context.input(1));
    Shape shape;
    for (int axis = 0; axis < in.rank(); ++axis) {
      int64_t dim = 0;
      if (!__builtin_mul_overflow(in.dim(axis), multiples[axis], &dim) && multiples[axis] >= 0 &&
          shape.add(dim)) {
        continue;
      }
      return context.invalid(
          "expected multiples >= 0 and fewer than 2^63 elements, got %lld at dimension %d",
          static_cast<long long>(multiples[axis]), axis);
    }
    if (shape == in.shape) {
      context.output_alias(0, 0, shape);
      return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    StridedWalk<1> walk;
    for (int axis = 0; axis < in.rank(); ++axis) {
      walk.append(multiples[axis], {0});
      walk.append(in.dim(axis), {product(in.shape, axis + 1, in.rank())});
    }
    copy_repeating(context, in, walk, *out);
  }
};

class BroadcastToKernel final : public Kernel {
 public:
  explicit BroadcastToKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "a shape");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    Shape shape, common;
    if (!read_shape(context, 1, "a shape", &shape)) return;
    if (!broadcast_shape(context, in.shape, shape, &common)) return;
    if (!(common == shape)) {
      return context.invalid("expected a shape that broadcasts to %s, got %s", text(shape).c_str(),
                             text(in.shape).c_str());
    }
    if (in.num_elements() == shape.num_elements()) {
      context.output_alias(0, 0, shape);
      return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    copy_repeating(context, in, broadcast_walk<1>(shape, {&in.shape}), *out);
  }
};

}  // namespace

void register_pad(KernelRegistry& registry) {
  add_each<PadKernel>(registry, "Pad", "T", kArrays);
  add_each<PadKernel>(registry, "PadV2", "T", kArrays);
  add_each<TileKernel>(registry, "Tile", "T", kArrays);
  add_each<BroadcastToKernel>(registry, "BroadcastTo", "T", kArrays);
}

}  // namespace qanat::kernels_cpu
