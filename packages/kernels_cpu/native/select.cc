// Select: one of two tensors, element by element, row by row, or as a whole.
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

constexpr int kEither[] = {1, 2};

class SelectKernel final : public Kernel {
 public:
  explicit SelectKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_dtype(init, 0, DType::kBool, "a condition");
    expect_same_dtype(init, 1, 2);
    expect_output_dtype(init, 1, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& condition = context.input(0);
    const Shape& shape = context.input(1).shape;
    if (!expect_same_shape(context, 1, 2)) return;
    if (condition.rank() == 0) {
      context.output_alias(0, *condition.as<bool>() ? 1 : 2, shape);
    } else if (condition.shape == shape) {
      select(context, shape, 1);
    } else if (condition.rank() == 1 && shape.rank() > 0 && condition.dim(0) == shape[0]) {
      select(context, shape, shape[0] == 0 ? 0 : shape.num_elements() / shape[0]);
    } else {
      context.invalid("expected a condition of shape [], %s or a vector over its rows, got %s",
                      text(shape).c_str(), text(condition.shape).c_str());
    }
  }

 private:
  // Each condition decides about a row of so many elements.
  static void select(KernelContext& context, const Shape& shape, int64_t row) {
    TensorView* out = context.output_reusing(0, shape, kEither, 2);
    if (out == nullptr || shape.num_elements() == 0) return;
    const bool* conditions = context.input(0).as<bool>();
    visit_storage(out->dtype, [&](auto tag) {
      using E = typename decltype(tag)::type;
      const E* then = context.input(1).as<E>();
      const E* otherwise = context.input(2).as<E>();
      E* to = out->as<E>();
      const int64_t rows = shape.num_elements() / row;
      for_ranges(context, rows, row_grain(row), [&](int64_t begin, int64_t end) {
        if (row == 1) {
          for (int64_t i = begin; i < end; ++i) to[i] = conditions[i] ? then[i] : otherwise[i];
          return;
        }
        for (int64_t i = begin; i < end; ++i) {
          const E* from = (conditions[i] ? then : otherwise) + i * row;
          if (from != to + i * row) copy_run(from, to + i * row, row);
        }
      });
    });
  }
};

}  // namespace

void register_select(KernelRegistry& registry) {
  add_each<SelectKernel>(registry, "Select", "T", kArrays);
}

}  // namespace qanat::kernels_cpu
