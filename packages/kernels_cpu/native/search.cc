// Where elements stand: Where, TopKV2, InTopKV2.
#include <algorithm>
#include <cmath>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

template <typename T>
bool is_zero(T value) {
  if constexpr (is_half<T>) {
    return static_cast<float>(value) == 0;
  } else {
    return value == T{};
  }
}

// The coordinates of the elements that are not 0.
class WhereKernel final : public Kernel {
 public:
  explicit WhereKernel(KernelInit& init) {
    if (!expect_arity(init, 1, 1)) return;
    if (output_dtype(init, 0) != DType::kInt64) init.invalid("expected an output of dtype int64");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    visit_number(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T* values = in.as<T>();
      const int64_t n = in.num_elements();
      const int64_t count =
          n - std::count_if(values, values + n, [](T value) { return is_zero(value); });
      TensorView* out = context.output(0, Shape({count, in.rank()}));
      if (out == nullptr) return;
      int64_t* row = out->as<int64_t>();
      for (int64_t i = 0; i < n; ++i) {
        if (is_zero(values[i])) continue;
        int64_t rest = i;
        for (int axis = in.rank() - 1; axis >= 0; --axis) {
          row[axis] = rest % in.dim(axis);
          rest /= in.dim(axis);
        }
        row += in.rank();
      }
    });
  }
};

// Whether element i of a row comes before element j: larger ones first, NaN the largest, and the
// smaller index where they are equal.
template <typename T>
struct Before {
  const T* row;
  bool operator()(int32_t i, int32_t j) const {
    const auto a = static_cast<Computed<T>>(row[i]), b = static_cast<Computed<T>>(row[j]);
    if (a > b || (a != a && b == b)) return true;
    if (a < b || (b != b && a == a)) return false;
    return i < j;
  }
};

// The k largest of each row; always sorted, which the attr `sorted` = false allows.
class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 2)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "k");
    if (output_dtype(init, 1) != DType::kInt32) init.invalid("expected indices of dtype int32");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int64_t k = 0;
    if (!read_scalar(context, 1, "k", &k)) return;
    if (in.rank() == 0) return context.invalid("expected an input of rank 1 or more, got a scalar");
    const int64_t row = in.dim(in.rank() - 1);
    if (k < 0 || k > row || row > INT32_MAX) {
      return context.invalid("expected k in [0, %lld] and rows that int32 can index, got %lld",
                             static_cast<long long>(row), static_cast<long long>(k));
    }
    Shape shape;
    for (int axis = 0; axis + 1 < in.rank(); ++axis) shape.add(in.dim(axis));
    if (!shape.add(k)) return context.invalid("expected fewer than 2^63 elements");
    TensorView* values = context.output(0, shape);
    TensorView* indices = context.output(1, shape);
    if (values == nullptr || indices == nullptr || shape.num_elements() == 0) return;
    const int64_t rows = in.num_elements() / row;
    int32_t* order = scratch_of<int32_t>(context, in.num_elements());
    if (order == nullptr) return;
    visit_reals(in.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_ranges(context, rows, row_grain(8 * row), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          top(in.as<T>() + r * row, order + r * row, row, k, values->as<T>() + r * k,
              indices->as<int32_t>() + r * k);
        }
      });
    });
  }

 private:
  template <typename T>
  static void top(const T* in, int32_t* order, int64_t n, int64_t k, T* values, int32_t* indices) {
    const Before<T> before{in};
    if (k == 1) {
      indices[0] = 0;
      for (int32_t i = 1; i < n; ++i) {
        if (before(i, indices[0])) indices[0] = i;
      }
    } else {
      for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
      std::partial_sort(order, order + k, order + n, before);
      std::copy(order, order + k, indices);
    }
    for (int64_t i = 0; i < k; ++i) values[i] = in[indices[i]];
  }
};

// Whether fewer than k predictions of a row are larger than that of its target. A target out of
// range or without a finite prediction is not among them.
class InTopKKernel final : public Kernel {
 public:
  explicit InTopKKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_dtype(init, 0, DType::kFloat32, "predictions");
    if (output_dtype(init, 0) != DType::kBool) init.invalid("expected an output of dtype bool");
    expect_indices(init, 1, "targets");
    expect_indices(init, 2, "k");
  }

  void compute(KernelContext& context) override {
    const TensorView& predictions = context.input(0);
    int64_t k = 0;
    if (!expect_rank(context, 0, 2, "predictions")) return;
    if (!expect_vector(context, 1, "targets", predictions.dim(0))) return;
    if (!read_scalar(context, 2, "k", &k)) return;
    TensorView* out = context.output(0, Shape({predictions.dim(0)}));
    if (out == nullptr) return;
    const Indices targets(context.input(1));
    const int64_t classes = predictions.dim(1);
    for_ranges(context, predictions.dim(0), row_grain(classes), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        out->as<bool>()[r] =
            is_in_top(predictions.as<float>() + r * classes, classes, targets[r], k);
      }
    });
  }

 private:
  static bool is_in_top(const float* row, int64_t classes, int64_t target, int64_t k) {
    if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
    int64_t larger = 0;
    for (int64_t i = 0; i < classes; ++i) larger += !(row[i] <= row[target]);
    return larger < k;
  }
};

}  // namespace

void register_search(KernelRegistry& registry) {
  add_each<WhereKernel>(registry, "Where", "T", kNumbers | kBools);
  add_each<TopKKernel>(registry, "TopKV2", "T", kReals);
  add_each<InTopKKernel>(registry, "InTopKV2", "T", kIndices);
}

}  // namespace qanat::kernels_cpu
