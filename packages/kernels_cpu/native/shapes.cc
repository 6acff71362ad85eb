// Ops that only read or change a shape: no element moves.
#include <limits>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

class ReshapeKernel final : public Kernel {
 public:
  explicit ReshapeKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "a shape");
  }

  void compute(KernelContext& context) override {
    Shape shape;
    if (wanted_shape(context, &shape)) context.output_alias(0, 0, shape);
  }

 private:
  // The shape in input 1, where one -1 stands for what the others leave.
  static bool wanted_shape(KernelContext& context, Shape* shape) {
    if (!expect_rank(context, 1, 1, "a shape")) return false;
    const int64_t elements = context.input(0).num_elements();
    const Indices dims(context.input(1));
    Shape known;  // with 1 in the place of the -1
    int64_t open = -1;
    for (int64_t i = 0; i < dims.size(); ++i) {
      const bool is_open = dims[i] == -1 && open < 0;
      if (is_open) open = i;
      if (known.add(is_open ? 1 : dims[i])) continue;
      context.invalid(
          "expected a shape of at most %d dimensions >= 0, or one of -1, and of fewer than 2^63 "
          "elements, got %lld at position %lld",
          kMaxRank, static_cast<long long>(dims[i]), static_cast<long long>(i));
      return false;
    }
    const int64_t rest = known.num_elements();
    const bool fits = open < 0 ? rest == elements : rest > 0 && elements % rest == 0;
    if (!fits) {
      context.invalid("expected a shape of %lld elements, got %s%s",
                      static_cast<long long>(elements), text(known).c_str(),
                      open < 0 ? "" : " and one open dimension");
      return false;
    }
    *shape = Shape();
    for (int i = 0; i < known.rank(); ++i) {
      shape->add(i != open ? known[i] : elements / rest);
    }
    return true;
  }
};

class ExpandDimsKernel final : public Kernel {
 public:
  explicit ExpandDimsKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "an axis");
  }

  void compute(KernelContext& context) override {
    const Shape& in = context.input(0).shape;
    int64_t wanted = 0;
    int axis = 0;
    if (!read_scalar(context, 1, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, in.rank() + 1, &axis)) return;
    Shape shape;
    bool fits = true;
    for (int i = 0; i <= in.rank(); ++i) {
      fits = fits && shape.add(i == axis ? 1 : in[i < axis ? i : i - 1]);
    }
    if (!fits) return context.invalid("expected fewer than %d dimensions", kMaxRank);
    context.output_alias(0, 0, shape);
  }
};

class SqueezeKernel final : public Kernel {
 public:
  explicit SqueezeKernel(KernelInit& init) : dims_(init.int_list_attr("squeeze_dims")) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const Shape& in = context.input(0).shape;
    uint32_t squeezed = 0;
    for (int64_t dim : dims_) {
      int axis = 0;
      if (!resolve_axis(context, dim, in.rank(), &axis)) return;
      if (in[axis] != 1) {
        return context.invalid("expected dimension %d to be 1, got shape %s", axis,
                               text(in).c_str());
      }
      squeezed |= uint32_t{1} << axis;
    }
    Shape shape;
    for (int axis = 0; axis < in.rank(); ++axis) {
      const bool goes = dims_.size == 0 ? in[axis] == 1 : (squeezed >> axis & 1) != 0;
      if (!goes) shape.add(in[axis]);
    }
    context.output_alias(0, 0, shape);
  }

 private:
  KernelInit::List<int64_t> dims_;
};

// Whether a count may be written to an output of that dtype.
bool fits(FailureSink& sink, DType dtype, int64_t count) {
  if (dtype == DType::kInt64 || count <= std::numeric_limits<int32_t>::max()) return true;
  sink.invalid("expected sizes that int32 can hold, got %lld: set out_type to int64",
               static_cast<long long>(count));
  return false;
}

bool expect_index_outputs(KernelInit& init) {
  for (int i = 0; i < init.num_outputs(); ++i) {
    if (kIndices.contains(init.output_dtype(i))) continue;
    init.invalid("expected an output of dtype int32 or int64, got %s",
                 dtype_name(init.output_dtype(i)));
    return false;
  }
  return true;
}

bool write_shape(KernelContext& context, int output, const Shape& shape) {
  TensorView* out = context.output(output, Shape({shape.rank()}));
  if (out == nullptr) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!fits(context, out->dtype, shape[axis])) return false;
    set_index(*out, axis, shape[axis]);
  }
  return true;
}

// Shape, and ShapeN: the shape of each input.
class ShapeKernel final : public Kernel {
 public:
  explicit ShapeKernel(KernelInit& init) {
    if (expect_arity(init, init.num_inputs(), init.num_inputs())) expect_index_outputs(init);
  }

  void compute(KernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!write_shape(context, i, context.input(i).shape)) return;
    }
  }
};

// Rank and Size: one number about the input.
template <bool kRank>
class CountKernel final : public Kernel {
 public:
  explicit CountKernel(KernelInit& init) {
    if (expect_arity(init, 1, 1)) expect_index_outputs(init);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    const int64_t count = kRank ? in.rank() : in.num_elements();
    TensorView* out = context.output(0, Shape());
    if (out != nullptr && fits(context, out->dtype, count)) set_index(*out, 0, count);
  }
};

// Ops that give their inputs back: they mean something to gradients only.
class IdentityKernel final : public Kernel {
 public:
  explicit IdentityKernel(KernelInit& init) {
    if (!expect_arity(init, init.num_inputs(), init.num_inputs())) return;
    for (int i = 0; i < init.num_inputs(); ++i) expect_output_dtype(init, i, i);
  }

  void compute(KernelContext& context) override {
    for (int i = 0; i < context.num_inputs(); ++i) {
      if (!context.output_alias(i, i, context.input(i).shape)) return;
    }
  }
};

// The axes over which the gradient of each operand of a broadcast is summed.
class BroadcastGradientArgsKernel final : public Kernel {
 public:
  explicit BroadcastGradientArgsKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 2)) return;
    for (int i = 0; i < 2; ++i) {
      expect_indices(init, i, "a shape");
      expect_output_dtype(init, i, i);
    }
  }

  void compute(KernelContext& context) override {
    Shape shapes[2];
    for (int i = 0; i < 2; ++i) {
      if (!read_shape(context, i, "a shape", &shapes[i])) return;
    }
    const int rank = std::max(shapes[0].rank(), shapes[1].rank());
    int64_t axes[2][kMaxRank];
    int counts[2] = {};
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t dims[2] = {aligned(shapes[0], axis, rank), aligned(shapes[1], axis, rank)};
      if (dims[0] != dims[1] && dims[0] != 1 && dims[1] != 1) {
        return context.invalid("expected shapes that broadcast, got %s and %s",
                               text(shapes[0]).c_str(), text(shapes[1]).c_str());
      }
      for (int i = 0; i < 2; ++i) {
        if (dims[i] == 1) axes[i][counts[i]++] = axis;
      }
    }
    for (int i = 0; i < 2; ++i) {
      TensorView* out = context.output(i, Shape({counts[i]}));
      if (out == nullptr) return;
      for (int at = 0; at < counts[i]; ++at) set_index(*out, at, axes[i][at]);
    }
  }

 private:
  static int64_t aligned(const Shape& shape, int axis, int rank) {
    const int at = axis - (rank - shape.rank());
    return at < 0 ? 1 : shape[at];
  }
};

}  // namespace

void register_shapes(KernelRegistry& registry) {
  add_each<ReshapeKernel>(registry, "Reshape", "T", kArrays);
  add_each<ExpandDimsKernel>(registry, "ExpandDims", "T", kArrays);
  add_each<SqueezeKernel>(registry, "Squeeze", "T", kArrays);
  add_each<ShapeKernel>(registry, "Shape", "T", kArrays);
  add_each<ShapeKernel>(registry, "ShapeN", "T", kArrays);
  add_each<CountKernel<true>>(registry, "Rank", "T", kArrays);
  add_each<CountKernel<false>>(registry, "Size", "T", kArrays);
  add_each<IdentityKernel>(registry, "StopGradient", "T", kArrays);
  add_each<IdentityKernel>(registry, "PreventGradient", "T", kArrays);
  registry.add<IdentityKernel>("IdentityN", {});
  add_each<BroadcastGradientArgsKernel>(registry, "BroadcastGradientArgs", "T", kIndices);
}

}  // namespace qanat::kernels_cpu
