#include "packages/kernels_cpu/native/coordinates.h"

namespace qanat::kernels_cpu {
namespace {

bool check_rows(KernelContext& context, const Coordinates& coordinates) {
  if (coordinates.depth == 0) return true;
  for (int64_t r = 0; r < coordinates.rows; ++r) {
    for (int i = 0; i < coordinates.depth; ++i) {
      const int64_t value = coordinates.indices[r * coordinates.depth + i];
      if (value >= 0 && value < coordinates.dims[i]) continue;
      context.invalid("expected indices in [0, %lld) at coordinate %d, got %lld in row %lld",
                      static_cast<long long>(coordinates.dims[i]), i, static_cast<long long>(value),
                      static_cast<long long>(r));
      return false;
    }
  }
  return true;
}

}  // namespace

bool read_coordinates(KernelContext& context, int i, const Shape& target,
                      Coordinates* coordinates) {
  const Shape& shape = context.input(i).shape;
  const int last = shape.rank() - 1;
  if (shape.rank() < 1 || shape[last] > target.rank()) {
    context.invalid("expected indices of shape [..., k] with k <= %d, got %s", target.rank(),
                    text(shape).c_str());
    return false;
  }
  coordinates->depth = static_cast<int>(shape[last]);
  bool fits = true;
  Shape rows, slice;
  for (int axis = 0; axis < last; ++axis) {
    fits = fits && rows.add(shape[axis]) && coordinates->slices.add(shape[axis]);
  }
  for (int axis = 0; axis < target.rank(); ++axis) {
    if (axis < coordinates->depth) {
      coordinates->dims[axis] = target[axis];
    } else {
      fits = fits && slice.add(target[axis]) && coordinates->slices.add(target[axis]);
    }
  }
  if (!fits) {
    context.invalid("expected fewer dimensions and elements, got indices %s into %s",
                    text(shape).c_str(), text(target).c_str());
    return false;
  }
  coordinates->rows = rows.num_elements();
  coordinates->row_elements = slice.num_elements();
  return check_rows(context, *coordinates);
}

}  // namespace qanat::kernels_cpu
