#include "packages/kernels_cpu/native/slice_spec.h"

namespace qanat::kernels_cpu {
namespace {

bool has(uint32_t mask, int64_t i) { return (mask >> i & 1) != 0; }

// What is taken of one dimension.
struct Range {
  int64_t start = 0;
  int64_t stride = 1;
  int64_t length = 0;
};

// A bound as Python understands it: negative ones count from the end, all are clamped.
int64_t clamp_bound(int64_t bound, int64_t dim, int64_t low, int64_t high) {
  const int64_t from_start = bound < 0 ? bound + dim : bound;
  return std::min(std::max(from_start, low), high);
}

class Resolver {
 public:
  Resolver(FailureSink& sink, const Shape& sliced, const SliceItems& items, const SliceMasks& masks)
      : sink_(sink), sliced_(sliced), items_(items), masks_(masks) {}

  bool run() {
    const int64_t count = items_.begin.size();
    if (items_.end.size() != count || items_.strides.size() != count || count > kMaxItems) {
      return complain("expected begin, end and strides of one length of at most 32");
    }
    if (!count_dims(count)) return false;
    for (int64_t i = 0; i < count; ++i) {
      if (has(masks_.ellipsis, i)) {
        if (!take_all(open_)) return false;
      } else if (has(masks_.new_axis, i)) {
        if (!add(1)) return false;
      } else if (!take_item(i)) {
        return false;
      }
    }
    return take_all(sliced_.rank() - axis_);
  }

  Shape result;
  Range ranges[kMaxRank];

 private:
  static constexpr int64_t kMaxItems = 32;

  bool complain(const char* message) {
    sink_.invalid("%s", message);
    return false;
  }

  // How many dimensions the ellipsis stands for.
  bool count_dims(int64_t count) {
    int ellipses = 0, taken = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (has(masks_.ellipsis, i)) {
        ++ellipses;
      } else if (!has(masks_.new_axis, i)) {
        ++taken;
      }
    }
    if (ellipses > 1) return complain("expected at most one ellipsis");
    if (taken > sliced_.rank()) {
      sink_.invalid("expected at most %d indices into shape %s, got %d", sliced_.rank(),
                    text(sliced_).c_str(), taken);
      return false;
    }
    open_ = sliced_.rank() - taken;
    return true;
  }

  bool add(int64_t dim) {
    return result.add(dim) || complain("expected a result of fewer dimensions");
  }

  bool take_all(int dims) {
    for (int i = 0; i < dims; ++i, ++axis_) {
      ranges[axis_].length = sliced_[axis_];
      if (!add(sliced_[axis_])) return false;
    }
    return true;
  }

  bool take_item(int64_t i) {
    Range& range = ranges[axis_];
    const int64_t dim = sliced_[axis_++];
    range.stride = items_.strides[i];
    if (range.stride == 0) return complain("expected strides other than 0");
    if (has(masks_.shrink_axis, i)) return take_index(i, dim, &range);
    const bool forward = range.stride > 0;
    const int64_t low = forward ? 0 : -1, high = forward ? dim : dim - 1;
    range.start = has(masks_.begin, i) ? (forward ? low : high)
                                       : clamp_bound(items_.begin[i], dim, low, high);
    const int64_t end =
        has(masks_.end, i) ? (forward ? high : low) : clamp_bound(items_.end[i], dim, low, high);
    const int64_t interval = end - range.start;
    if (interval != 0 && (interval > 0) == forward) {
      range.length = interval / range.stride + (interval % range.stride != 0);
    }
    return add(range.length);
  }

  bool take_index(int64_t i, int64_t dim, Range* range) {
    if (range->stride < 0) return complain("expected a stride of 1 at a single index");
    const int64_t index = items_.begin[i];
    range->start = index < 0 ? index + dim : index;
    range->stride = 1;
    range->length = 1;
    if (range->start >= 0 && range->start < dim) return true;
    sink_.invalid("expected an index in [%lld, %lld) at dimension %d, got %lld",
                  static_cast<long long>(-dim), static_cast<long long>(dim), axis_ - 1,
                  static_cast<long long>(index));
    return false;
  }

  FailureSink& sink_;
  const Shape& sliced_;
  const SliceItems& items_;
  const SliceMasks& masks_;
  int open_ = 0;
  int axis_ = 0;
};

}  // namespace

bool resolve_slice(FailureSink& sink, const Shape& sliced, const SliceItems& items,
                   const SliceMasks& masks, Shape* result, StridedPart* part) {
  Resolver resolver(sink, sliced, items, masks);
  if (!resolver.run()) return false;
  *result = resolver.result;
  *part = StridedPart();
  part->count = result->num_elements();
  if (part->count == 0) return true;
  for (int axis = 0; axis < sliced.rank(); ++axis) {
    const Range& range = resolver.ranges[axis];
    const int64_t inner = product(sliced, axis + 1, sliced.rank());
    part->start += range.start * inner;
    if (range.length > 1) part->walk.append(range.length, {range.stride * inner});
  }
  return true;
}

}  // namespace qanat::kernels_cpu
