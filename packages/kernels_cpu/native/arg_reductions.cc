// ArgMax and ArgMin: the first place of the extreme along one axis.
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// Whether `value` takes the place of `best`: NaN is more extreme than every number.
template <bool kMax, typename T>
bool beats(T value, T best) {
  const bool more = kMax ? value > best : value < best;
  return more || (value != value && best == best);
}

// Columns that are scanned together where the axis is not the last.
inline constexpr int64_t kColumns = 64;

// The places along `length` rows of `stride` elements, for `count` <= kColumns neighbouring
// columns.
template <bool kMax, typename T>
void find_places(const T* in, int64_t length, int64_t stride, int64_t count, int64_t* places) {
  Computed<T> best[kColumns];
  for (int64_t i = 0; i < count; ++i) {
    best[i] = static_cast<Computed<T>>(in[i]);
    places[i] = 0;
  }
  for (int64_t row = 1; row < length; ++row) {
    const T* values = in + row * stride;
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<Computed<T>>(values[i]);
      if (!beats<kMax>(value, best[i])) continue;
      best[i] = value;
      places[i] = row;
    }
  }
}

template <bool kMax>
class ArgKernel final : public Kernel {
 public:
  explicit ArgKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_indices(init, 1, "an axis");
    if (!kIndices.contains(output_dtype(init, 0))) {
      init.invalid("expected an output of dtype int32 or int64");
    }
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int64_t wanted = 0;
    int axis = 0;
    if (!read_scalar(context, 1, "an axis", &wanted)) return;
    if (!resolve_axis(context, wanted, in.rank(), &axis)) return;
    Shape shape;
    for (int i = 0; i < in.rank(); ++i) {
      if (i != axis && !shape.add(in.dim(i))) return context.invalid("expected fewer elements");
    }
    const int64_t length = in.dim(axis);
    if (length == 0 && shape.num_elements() != 0) {
      return context.invalid("expected a dimension %d other than 0, got shape %s", axis,
                             text(in.shape).c_str());
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    const int64_t outer = product(in.shape, 0, axis);
    const int64_t inner = product(in.shape, axis + 1, in.rank());
    visit_reals(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_ranges(context, outer, row_grain(length * inner), [&](int64_t begin, int64_t end) {
        for (int64_t o = begin; o < end; ++o) {
          find_row(in.as<T>() + o * length * inner, length, inner, *out, o * inner);
        }
      });
    });
  }

 private:
  template <typename T>
  static void find_row(const T* in, int64_t length, int64_t inner, const TensorView& out,
                       int64_t at) {
    int64_t places[kColumns];
    for (int64_t i = 0; i < inner; i += kColumns) {
      const int64_t count = std::min(kColumns, inner - i);
      find_places<kMax>(in + i, length, inner, count, places);
      for (int64_t c = 0; c < count; ++c) set_index(out, at + i + c, places[c]);
    }
  }
};

}  // namespace

void register_arg_reductions(KernelRegistry& registry) {
  add_each<ArgKernel<true>>(registry, "ArgMax", "T", kReals);
  add_each<ArgKernel<false>>(registry, "ArgMin", "T", kReals);
}

}  // namespace qanat::kernels_cpu
