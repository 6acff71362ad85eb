#include "packages/kernels_cpu/native/indices.h"

namespace qanat::kernels_cpu {
namespace {

long long printed(int64_t value) { return static_cast<long long>(value); }

}  // namespace

bool check_index(FailureSink& sink, const char* what, int64_t at, int64_t value, int64_t bound) {
  if (value >= 0 && value < bound) return true;
  sink.invalid("expected %s in [0, %lld), got %lld at position %lld", what, printed(bound),
               printed(value), printed(at));
  return false;
}

bool check_indices(FailureSink& sink, const char* what, const Indices& indices, int64_t bound) {
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (!check_index(sink, what, i, indices[i], bound)) return false;
  }
  return true;
}

bool read_scalar(KernelContext& context, int i, const char* what, int64_t* value) {
  const TensorView& view = context.input(i);
  if (view.num_elements() != 1 || view.rank() > 1) {
    context.invalid("expected %s as a scalar, got shape %s", what, text(view.shape).c_str());
    return false;
  }
  *value = Indices(view)[0];
  return true;
}

bool read_shape(KernelContext& context, int i, const char* what, Shape* shape) {
  if (!expect_rank(context, i, 1, what)) return false;
  const Indices dims(context.input(i));
  if (dims.size() > kMaxRank) {
    context.invalid("expected %s of at most %d dimensions, got %lld", what, kMaxRank,
                    printed(dims.size()));
    return false;
  }
  *shape = Shape();
  for (int64_t axis = 0; axis < dims.size(); ++axis) {
    if (shape->add(dims[axis])) continue;
    context.invalid(
        "expected %s of dimensions >= 0 and fewer than 2^63 elements, got %lld at position %lld",
        what, printed(dims[axis]), printed(axis));
    return false;
  }
  return true;
}

bool expect_vector(KernelContext& context, int i, const char* what, int64_t size) {
  const Shape& shape = context.input(i).shape;
  if (shape.rank() == 1 && shape[0] == size) return true;
  context.invalid("expected %s of shape [%lld], got %s", what, printed(size), text(shape).c_str());
  return false;
}

bool resolve_axis(FailureSink& sink, int64_t axis, int rank, int* resolved) {
  if (axis < -rank || axis >= rank) {
    sink.invalid("expected an axis in [%d, %d), got %lld", -rank, rank, printed(axis));
    return false;
  }
  *resolved = static_cast<int>(axis < 0 ? axis + rank : axis);
  return true;
}

bool read_axes(KernelContext& context, int i, int rank, uint32_t* axes) {
  const TensorView& view = context.input(i);
  if (view.rank() > 1) {
    context.invalid("expected axes as a scalar or a vector, got shape %s",
                    text(view.shape).c_str());
    return false;
  }
  *axes = 0;
  const Indices indices(view);
  for (int64_t at = 0; at < indices.size(); ++at) {
    int axis = 0;
    if (!resolve_axis(context, indices[at], rank, &axis)) return false;
    if ((*axes >> axis & 1) != 0) {
      context.invalid("expected different axes, got %d twice", axis);
      return false;
    }
    *axes |= uint32_t{1} << axis;
  }
  return true;
}

}  // namespace qanat::kernels_cpu
