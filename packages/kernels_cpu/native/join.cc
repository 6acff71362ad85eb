// Joining tensors along an axis and cutting them apart: ConcatV2, Pack, Unpack, Split, SplitV.
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// `rows` runs of `length` elements: run r from from[from_start + r * from_step] to the like place.
struct Runs {
  int64_t rows, length;
  int64_t from_start, from_step;
  int64_t to_start, to_step;
};

void copy_runs(KernelContext& context, const TensorView& from, const TensorView& to,
               const Runs& runs) {
  if (runs.rows == 1) {
    for_ranges(context, runs.length, kGrain, [&](int64_t begin, int64_t end) {
      copy_elements(from, runs.from_start + begin, to, runs.to_start + begin, end - begin);
    });
    return;
  }
  for_ranges(context, runs.rows, row_grain(runs.length), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      copy_elements(from, runs.from_start + row * runs.from_step, to,
                    runs.to_start + row * runs.to_step, runs.length);
    }
  });
}

// The shape with dimension `axis` replaced.
bool with_dim(FailureSink& sink, const Shape& shape, int axis, int64_t dim, Shape* changed) {
  *changed = Shape();
  for (int i = 0; i < shape.rank(); ++i) {
    if (changed->add(i == axis ? dim : shape[i])) continue;
    sink.invalid("expected a result of fewer than 2^63 elements, got %s with %lld at axis %d",
                 text(shape).c_str(), static_cast<long long>(dim), axis);
    return false;
  }
  return true;
}

bool expect_values(KernelInit& init, int values) {
  if (values < 1) init.invalid("expected at least one value");
  return values >= 1;
}

// The inputs [0, n) behind each other along an axis that they all have.
class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(KernelInit& init) {
    const int values = init.num_inputs() - 1;
    if (!expect_values(init, values) || !expect_arity(init, values + 1, 1)) return;
    for (int i = 1; i < values; ++i) expect_same_dtype(init, 0, i);
    expect_output_dtype(init, 0, 0);
    expect_indices(init, values, "an axis");
  }

  void compute(KernelContext& context) override {
    const int values = context.num_inputs() - 1;
    const Shape& first = context.input(0).shape;
    int64_t wanted = 0;
    int axis = 0;
    if (!read_scalar(context, values, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, first.rank(), &axis)) return;
    int64_t total = 0;
    if (!total_length(context, values, axis, &total)) return;
    Shape shape;
    if (!with_dim(context, first, axis, total, &shape)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const int64_t outer = product(shape, 0, axis);
    const int64_t inner = product(shape, axis + 1, shape.rank());
    int64_t at = 0;
    for (int i = 0; i < values; ++i) {
      const int64_t length = context.input(i).dim(axis) * inner;
      copy_runs(context, context.input(i), *out, {outer, length, 0, length, at, total * inner});
      at += length;
    }
  }

 private:
  // The sum of the dimensions at the axis, where all others agree.
  static bool total_length(KernelContext& context, int values, int axis, int64_t* total) {
    const Shape& first = context.input(0).shape;
    for (int i = 0; i < values; ++i) {
      const Shape& shape = context.input(i).shape;
      bool agrees = shape.rank() == first.rank();
      for (int a = 0; agrees && a < shape.rank(); ++a) agrees = a == axis || shape[a] == first[a];
      if (agrees && !__builtin_add_overflow(*total, shape[axis], total)) continue;
      context.invalid("expected values that agree but for axis %d, got %s and, as value %d, %s",
                      axis, text(first).c_str(), i, text(shape).c_str());
      return false;
    }
    return true;
  }
};

// The inputs, all of one shape, along a new axis.
class PackKernel final : public Kernel {
 public:
  explicit PackKernel(KernelInit& init) : axis_(init.int_attr("axis")) {
    const int values = init.num_inputs();
    if (!expect_values(init, values) || !expect_arity(init, values, 1)) return;
    for (int i = 1; i < init.num_inputs(); ++i) expect_same_dtype(init, 0, i);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const Shape& in = context.input(0).shape;
    const int count = context.num_inputs();
    int axis = 0;
    if (!resolve_axis(context, axis_, in.rank() + 1, &axis)) return;
    for (int i = 1; i < count; ++i) {
      if (!expect_same_shape(context, 0, i)) return;
    }
    Shape shape;
    bool fits = true;
    for (int i = 0; i <= in.rank(); ++i) {
      fits = fits && shape.add(i == axis ? count : in[i < axis ? i : i - 1]);
    }
    if (!fits) return context.invalid("expected %d values of fewer dimensions or elements", count);
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const int64_t outer = product(in, 0, axis);
    const int64_t inner = product(in, axis, in.rank());
    for (int i = 0; i < count; ++i) {
      copy_runs(context, context.input(i), *out,
                {outer, inner, 0, inner, i * inner, count * inner});
    }
  }

 private:
  int64_t axis_;
};

// Writes the parts of an input to outputs 0, 1, ...: part i has lengths(i) along the axis, which is
// dropped from its shape if `drop`. The lengths sum to the dimension.
template <typename Lengths>
void cut(KernelContext& context, const TensorView& in, int axis, int parts, bool drop,
         const Lengths& lengths) {
  const bool empty = in.num_elements() == 0;
  const int64_t outer = empty ? 0 : product(in.shape, 0, axis);
  const int64_t inner = empty ? 0 : product(in.shape, axis + 1, in.rank());
  int64_t at = 0;
  for (int i = 0; i < parts; ++i) {
    Shape shape;
    for (int a = 0; a < in.rank(); ++a) {
      if (a != axis || !drop) shape.add(a == axis ? lengths(i) : in.dim(a));
    }
    TensorView* out = context.output(i, shape);
    if (out == nullptr) return;
    if (empty || lengths(i) == 0) continue;
    const int64_t length = lengths(i) * inner;
    copy_runs(context, in, *out, {outer, length, at, in.dim(axis) * inner, 0, length});
    at += length;
  }
}

// The kernels that cut say how many parts in an attr, which must be the number of outputs.
int parts_attr(KernelInit& init, const char* name, int inputs) {
  const int64_t parts = init.int_attr(name);
  if (parts != init.num_outputs()) {
    init.invalid("expected %lld outputs, got %d", static_cast<long long>(parts),
                 init.num_outputs());
  }
  expect_arity(init, inputs, init.num_outputs());
  return init.num_outputs();
}

class UnpackKernel final : public Kernel {
 public:
  explicit UnpackKernel(KernelInit& init)
      : parts_(parts_attr(init, "num", 1)), axis_(init.int_attr("axis")) {
    for (int i = 0; i < parts_; ++i) expect_output_dtype(init, 0, i);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int axis = 0;
    if (!resolve_axis(context, axis_, in.rank(), &axis)) return;
    if (in.dim(axis) != parts_) {
      return context.invalid("expected dimension %d to be %d, got shape %s", axis, parts_,
                             text(in.shape).c_str());
    }
    cut(context, in, axis, parts_, true, [](int) { return int64_t{1}; });
  }

 private:
  int parts_;
  int64_t axis_;
};

class SplitKernel final : public Kernel {
 public:
  explicit SplitKernel(KernelInit& init) : parts_(parts_attr(init, "num_split", 2)) {
    if (parts_ < 1) init.invalid("expected num_split of at least 1");
    expect_indices(init, 0, "an axis");
    for (int i = 0; i < parts_; ++i) expect_output_dtype(init, 1, i);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(1);
    int64_t wanted = 0;
    int axis = 0;
    if (!read_scalar(context, 0, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, in.rank(), &axis)) return;
    if (in.dim(axis) % parts_ != 0) {
      return context.invalid("expected dimension %d to be divisible by %d, got shape %s", axis,
                             parts_, text(in.shape).c_str());
    }
    const int64_t length = in.dim(axis) / parts_;
    cut(context, in, axis, parts_, false, [&](int) { return length; });
  }

 private:
  int parts_;
};

class SplitVKernel final : public Kernel {
 public:
  explicit SplitVKernel(KernelInit& init) : parts_(parts_attr(init, "num_split", 3)) {
    expect_indices(init, 1, "sizes");
    expect_indices(init, 2, "an axis");
    for (int i = 0; i < parts_; ++i) expect_output_dtype(init, 0, i);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int64_t wanted = 0;
    int axis = 0;
    if (!expect_vector(context, 1, "sizes", parts_)) return;
    if (!read_scalar(context, 2, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, in.rank(), &axis)) return;
    const Indices sizes(context.input(1));
    int64_t rest = 0;
    if (!open_size(context, sizes, in.dim(axis), &rest)) return;
    cut(context, in, axis, parts_, false, [&](int i) { return sizes[i] < 0 ? rest : sizes[i]; });
  }

 private:
  // What the sizes leave of the dimension for the one that is -1; nothing where none is.
  static bool open_size(KernelContext& context, const Indices& sizes, int64_t dim, int64_t* rest) {
    bool has_open = false, valid = true;
    *rest = dim;
    for (int64_t i = 0; i < sizes.size() && valid; ++i) {
      const bool open = sizes[i] == -1 && !has_open;
      has_open |= open;
      valid = open || (sizes[i] >= 0 && sizes[i] <= *rest);
      if (valid && !open) *rest -= sizes[i];
    }
    if (valid && (has_open || *rest == 0)) return true;
    context.invalid("expected sizes >= 0, or one of -1, that sum to %lld",
                    static_cast<long long>(dim));
    return false;
  }

  int parts_;
};

}  // namespace

void register_join(KernelRegistry& registry) {
  add_each<ConcatKernel>(registry, "ConcatV2", "T", kArrays);
  add_each<PackKernel>(registry, "Pack", "T", kArrays);
  add_each<UnpackKernel>(registry, "Unpack", "T", kArrays);
  add_each<SplitKernel>(registry, "Split", "T", kArrays);
  add_each<SplitVKernel>(registry, "SplitV", "T", kArrays);
}

}  // namespace qanat::kernels_cpu
