// Reading at indices: GatherV2, Gather, GatherNd.
#include "packages/kernels_cpu/native/coordinates.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/rows.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// Gather is GatherV2 without an axis: it takes rows.
class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(KernelInit& init) : has_axis_(init.num_inputs() == 3) {
    if (!expect_arity(init, has_axis_ ? 3 : 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "indices");
    if (has_axis_) expect_indices(init, 2, "an axis");
    if (init.has_attr("batch_dims") && init.int_attr("batch_dims") != 0) {
      init.invalid("expected batch_dims 0, got %lld",
                   static_cast<long long>(init.int_attr("batch_dims")));
    }
  }

  void compute(KernelContext& context) override {
    const TensorView& params = context.input(0);
    int64_t wanted = 0;
    int axis = 0;
    if (has_axis_ && !read_scalar(context, 2, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, params.rank(), &axis)) return;
    const Indices indices(context.input(1));
    const int64_t dim = params.dim(axis);
    Shape shape;
    if (!gathered_shape(context, axis, &shape)) return;
    if (!check_indices(context, "indices", indices, dim)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const int64_t outer = product(params.shape, 0, axis);
    const int64_t inner = product(params.shape, axis + 1, params.rank());
    copy_rows(context, params, *out, outer * indices.size(), inner,
              [&](int64_t r) { return r / indices.size() * dim + indices[r % indices.size()]; });
  }

 private:
  static bool gathered_shape(KernelContext& context, int axis, Shape* shape) {
    const Shape& params = context.input(0).shape;
    const Shape& indices = context.input(1).shape;
    bool fits = true;
    for (int i = 0; i < axis; ++i) fits = fits && shape->add(params[i]);
    for (int i = 0; i < indices.rank(); ++i) fits = fits && shape->add(indices[i]);
    for (int i = axis + 1; i < params.rank(); ++i) fits = fits && shape->add(params[i]);
    if (!fits) {
      context.invalid(
          "expected a result of fewer dimensions and elements, got params %s, indices %s",
          text(params).c_str(), text(indices).c_str());
    }
    return fits;
  }

  bool has_axis_;
};

// Row r of the indices is the start of a coordinate in params; the slice there is taken.
class GatherNdKernel final : public Kernel {
 public:
  explicit GatherNdKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "indices");
  }

  void compute(KernelContext& context) override {
    const TensorView& params = context.input(0);
    Coordinates coordinates(context.input(1));
    if (!read_coordinates(context, 1, params.shape, &coordinates)) return;
    TensorView* out = context.output(0, coordinates.slices);
    if (out == nullptr || coordinates.slices.num_elements() == 0) return;
    copy_rows(context, params, *out, coordinates.rows, coordinates.row_elements,
              [&](int64_t r) { return coordinates.place(r); });
  }
};

}  // namespace

void register_gather(KernelRegistry& registry) {
  add_each<GatherKernel>(registry, "GatherV2", "Tparams", kArrays);
  add_each<GatherKernel>(registry, "Gather", "Tparams", kArrays);
  add_each<GatherNdKernel>(registry, "GatherNd", "Tparams", kArrays);
}

}  // namespace qanat::kernels_cpu
