// Slice, StridedSlice and its gradient, ReverseV2.
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/slice_spec.h"
#include "packages/kernels_cpu/native/strided_copy.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

class SliceKernel final : public Kernel {
 public:
  explicit SliceKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "begin");
    expect_indices(init, 2, "size");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (!expect_vector(context, 1, "begin", in.rank())) return;
    if (!expect_vector(context, 2, "size", in.rank())) return;
    const Indices begin(context.input(1)), size(context.input(2));
    Shape shape;
    for (int axis = 0; axis < in.rank(); ++axis) {
      const int64_t dim = in.dim(axis), start = begin[axis];
      const int64_t length = size[axis] == -1 ? dim - std::min(dim, start) : size[axis];
      if (start < 0 || start > dim || length < 0 || length > dim - start) {
        return context.invalid(
            "expected 0 <= begin <= begin + size <= %lld at dimension %d, got begin %lld, size "
            "%lld",
            static_cast<long long>(dim), axis, static_cast<long long>(start),
            static_cast<long long>(size[axis]));
      }
      shape.add(length);
    }
    if (shape == in.shape) {
      context.output_alias(0, 0, shape);
      return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    StridedPart part;
    part.count = shape.num_elements();
    for (int axis = 0; axis < in.rank(); ++axis) {
      const int64_t inner = product(in.shape, axis + 1, in.rank());
      part.start += begin[axis] * inner;
      part.walk.append(shape[axis], {inner});
    }
    copy_from_part(context, in, part, *out);
  }
};

SliceMasks masks_of(KernelInit& init) {
  const auto mask = [&](const char* name) { return static_cast<uint32_t>(init.int_attr(name)); };
  return {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
          mask("shrink_axis_mask")};
}

// Inputs first, first + 1 and first + 2 as begin, end and strides.
bool expect_items(KernelInit& init, int first) {
  return expect_indices(init, first, "begin") && expect_indices(init, first + 1, "end") &&
         expect_indices(init, first + 2, "strides");
}
bool expect_item_vectors(KernelContext& context, int first) {
  return expect_rank(context, first, 1, "begin") && expect_rank(context, first + 1, 1, "end") &&
         expect_rank(context, first + 2, 1, "strides");
}
SliceItems items_of(KernelContext& context, int first) {
  return {Indices(context.input(first)), Indices(context.input(first + 1)),
          Indices(context.input(first + 2))};
}

class StridedSliceKernel final : public Kernel {
 public:
  explicit StridedSliceKernel(KernelInit& init) : masks_(masks_of(init)) {
    if (!expect_arity(init, 4, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_items(init, 1);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (!expect_item_vectors(context, 1)) return;
    Shape shape;
    StridedPart part;
    if (!resolve_slice(context, in.shape, items_of(context, 1), masks_, &shape, &part)) return;
    const bool whole = part.count == in.num_elements() && part.start == 0 &&
                       part.walk.rank() == 1 && part.walk.inner_stride(0) <= 1;
    if (whole) {
      context.output_alias(0, 0, shape);
      return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || part.count == 0) return;
    copy_from_part(context, in, part, *out);
  }

 private:
  SliceMasks masks_;
};

// Zeros of a shape, with dy at the elements that the slice takes.
class StridedSliceGradKernel final : public Kernel {
 public:
  explicit StridedSliceGradKernel(KernelInit& init) : masks_(masks_of(init)) {
    if (!expect_arity(init, 5, 1)) return;
    expect_output_dtype(init, 4, 0);
    expect_indices(init, 0, "a shape");
    expect_items(init, 1);
  }

  void compute(KernelContext& context) override {
    const TensorView& dy = context.input(4);
    Shape shape, sliced;
    StridedPart part;
    if (!read_shape(context, 0, "a shape", &shape) || !expect_item_vectors(context, 1)) return;
    if (!resolve_slice(context, shape, items_of(context, 1), masks_, &sliced, &part)) return;
    if (!(dy.shape == sliced)) {
      return context.invalid("expected dy of shape %s, got %s", text(sliced).c_str(),
                             text(dy.shape).c_str());
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr) return;
    zero_elements(*out);
    if (part.count > 0) copy_to_part(context, dy, *out, part);
  }

 private:
  SliceMasks masks_;
};

class ReverseKernel final : public Kernel {
 public:
  explicit ReverseKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "axes");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    uint32_t axes = 0;
    if (!read_axes(context, 1, in.rank(), &axes)) return;
    TensorView* out = context.output(0, in.shape);
    if (out == nullptr || in.num_elements() == 0) return;
    StridedPart part;
    part.count = in.num_elements();
    for (int axis = 0; axis < in.rank(); ++axis) {
      const bool reversed = (axes >> axis & 1) != 0;
      const int64_t inner = product(in.shape, axis + 1, in.rank());
      if (reversed) part.start += (in.dim(axis) - 1) * inner;
      part.walk.append(in.dim(axis), {reversed ? -inner : inner});
    }
    copy_from_part(context, in, part, *out);
  }
};

}  // namespace

void register_slice(KernelRegistry& registry) {
  add_each<SliceKernel>(registry, "Slice", "T", kArrays);
  add_each<StridedSliceKernel>(registry, "StridedSlice", "T", kArrays);
  add_each<StridedSliceGradKernel>(registry, "StridedSliceGrad", "T", kArrays);
  add_each<ReverseKernel>(registry, "ReverseV2", "T", kArrays);
}

}  // namespace qanat::kernels_cpu
