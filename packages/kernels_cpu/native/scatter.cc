// Adding at indices: ScatterNd, and the UnsortedSegment reductions.
#include <limits>

#include "packages/kernels_cpu/native/coordinates.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/half_tiles.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// How rows that meet are combined. Integers wrap; NaN wins a maximum and a minimum.
struct Sum {
  template <typename T>
  static constexpr T kInitial = T{0};
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

struct Prod {
  template <typename T>
  static constexpr T kInitial = T{1};
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

// Where no row arrives, the least value of the type, as it is in TensorFlow.
struct Max {
  template <typename T>
  static constexpr T kInitial = std::numeric_limits<T>::lowest();
  template <typename T>
  static T combine(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

struct Min {
  template <typename T>
  static constexpr T kInitial = std::numeric_limits<T>::max();
  template <typename T>
  static T combine(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

// Rows `row` wide that are combined into targets: row r goes to target place(r), or nowhere where
// that is negative. Rows are taken in order; threads share the columns, so that the order is always
// the same.
template <typename Op, typename T, typename Place>
void combine_rows(KernelContext& context, const T* from, T* to, int64_t rows, int64_t targets,
                  int64_t row, const Place& place) {
  constexpr int64_t kColumns = 256;
  const int64_t grain = rows > kColumns ? kColumns : row;
  for_ranges(context, row, std::max<int64_t>(1, grain), [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < targets; ++t) {
      std::fill(to + t * row + begin, to + t * row + end, Op::template kInitial<T>);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t target = place(r);
      if (target < 0) continue;
      const T* x = from + r * row;
      T* y = to + target * row;
      for (int64_t i = begin; i < end; ++i) y[i] = Op::combine(y[i], x[i]);
    }
  });
}

// The same for tensors; the halves are combined in float32.
template <typename Op, typename Place>
void combine(KernelContext& context, const TensorView& from, const TensorView& to, int64_t rows,
             int64_t targets, int64_t row, const Place& place) {
  const int64_t in = rows * row, out = targets * row;
  if (is_half_dtype(from.dtype)) {
    float* wide = scratch_of<float>(context, in);
    float* sums = scratch_of<float>(context, out);
    if (wide == nullptr || sums == nullptr) return;
    widen(from.dtype, from.data, wide, in);
    combine_rows<Op>(context, wide, sums, rows, targets, row, place);
    narrow(to.dtype, sums, to.data, out);
    return;
  }
  visit_reals(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!is_half<T>) {
      combine_rows<Op>(context, from.as<T>(), to.as<T>(), rows, targets, row, place);
    }
  });
}

class ScatterNdKernel final : public Kernel {
 public:
  explicit ScatterNdKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_indices(init, 0, "indices");
    expect_output_dtype(init, 1, 0);
    expect_indices(init, 2, "a shape");
  }

  void compute(KernelContext& context) override {
    const TensorView& updates = context.input(1);
    Shape shape;
    if (!read_shape(context, 2, "a shape", &shape)) return;
    Coordinates coordinates(context.input(0));
    if (!read_coordinates(context, 0, shape, &coordinates)) return;
    if (!(updates.shape == coordinates.slices)) {
      return context.invalid("expected updates of shape %s, got %s",
                             text(coordinates.slices).c_str(), text(updates.shape).c_str());
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    combine<Sum>(context, updates, *out, coordinates.rows,
                 shape.num_elements() / coordinates.row_elements, coordinates.row_elements,
                 [&](int64_t r) { return coordinates.place(r); });
  }
};

template <typename Op>
class UnsortedSegmentKernel final : public Kernel {
 public:
  explicit UnsortedSegmentKernel(KernelInit& init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "segment ids");
    expect_indices(init, 2, "a number of segments");
  }

  void compute(KernelContext& context) override {
    const TensorView& data = context.input(0);
    const TensorView& id_view = context.input(1);
    int64_t segments = 0;
    if (!read_scalar(context, 2, "a number of segments", &segments)) return;
    Shape shape, row_shape;
    if (!segments_shape(context, segments, &shape, &row_shape)) return;
    const Indices ids(id_view);
    for (int64_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0 && !check_index(context, "segment ids", i, ids[i], segments)) return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    combine<Op>(context, data, *out, ids.size(), segments, row_shape.num_elements(),
                [&](int64_t r) { return ids[r]; });
  }

 private:
  // [segments] + rest, where data has the shape of the ids + rest.
  static bool segments_shape(KernelContext& context, int64_t segments, Shape* shape, Shape* row) {
    const Shape& data = context.input(0).shape;
    const Shape& ids = context.input(1).shape;
    bool leads = ids.rank() <= data.rank();
    for (int i = 0; leads && i < ids.rank(); ++i) leads = ids[i] == data[i];
    if (!leads) {
      context.invalid("expected segment ids whose shape data's shape %s begins with, got %s",
                      text(data).c_str(), text(ids).c_str());
      return false;
    }
    bool fits = shape->add(segments);
    for (int i = ids.rank(); i < data.rank(); ++i) {
      fits = fits && shape->add(data[i]) && row->add(data[i]);
    }
    if (!fits) {
      context.invalid("expected a number of segments >= 0 and fewer elements, got %lld",
                      static_cast<long long>(segments));
    }
    return fits;
  }
};

}  // namespace

void register_scatter(KernelRegistry& registry) {
  add_each<ScatterNdKernel>(registry, "ScatterNd", "T", kReals);
  add_each<UnsortedSegmentKernel<Sum>>(registry, "UnsortedSegmentSum", "T", kReals);
  add_each<UnsortedSegmentKernel<Prod>>(registry, "UnsortedSegmentProd", "T", kReals);
  add_each<UnsortedSegmentKernel<Max>>(registry, "UnsortedSegmentMax", "T", kReals);
  add_each<UnsortedSegmentKernel<Min>>(registry, "UnsortedSegmentMin", "T", kReals);
}

}  // namespace qanat::kernels_cpu
