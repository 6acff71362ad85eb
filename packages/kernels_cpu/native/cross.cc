// Cross: the products of vectors of three.
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// Integers wrap, as unsigned ones do.
template <typename T>
using Arithmetic = std::conditional_t<std::is_integral_v<T>, uint64_t, Computed<T>>;

// Every element of a and b is read before one of `out` is written, which may be either of them.
template <typename T>
void multiply(const T* a, const T* b, T* out) {
  using A = Arithmetic<T>;
  const auto wide = [](T x) { return static_cast<A>(static_cast<Computed<T>>(x)); };
  const A x0 = wide(a[0]), x1 = wide(a[1]), x2 = wide(a[2]);
  const A y0 = wide(b[0]), y1 = wide(b[1]), y2 = wide(b[2]);
  const A products[] = {x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0};
  for (int i = 0; i < 3; ++i) out[i] = T(static_cast<Computed<T>>(products[i]));
}

class CrossKernel final : public Kernel {
 public:
  explicit CrossKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_same_dtype(init, 0, 1);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &a = context.input(0), &b = context.input(1);
    if (!expect_same_shape(context, 0, 1)) return;
    if (a.rank() == 0 || a.dim(a.rank() - 1) != 3) {
      return context.invalid("expected vectors of 3 in the last dimension, got shape %s",
                             text(a.shape).c_str());
    }
    constexpr int kBoth[] = {0, 1};
    TensorView* out = context.output_reusing(0, a.shape, kBoth, 2);
    if (out == nullptr) return;
    visit_reals(out->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_ranges(context, out->num_elements() / 3, row_grain(3), [&](int64_t begin, int64_t end) {
        for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
          multiply(a.as<T>() + i, b.as<T>() + i, out->as<T>() + i);
        }
      });
    });
  }
};

}  // namespace

void register_cross(KernelRegistry& registry) {
  add_each<CrossKernel>(registry, "Cross", "T", kReals);
}

}  // namespace qanat::kernels_cpu
