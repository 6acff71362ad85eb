// N operands read in the order of one shape, each with its own strides, in as few dimensions as
// will do: the engine under broadcasting, strided slices, tiles and reversals.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_STRIDED_WALK_H_
#define PACKAGES_KERNELS_CPU_NATIVE_STRIDED_WALK_H_

#include <algorithm>
#include <cstdint>

#include "packages/core/native/kernel/kernel.h"

namespace qanat::kernels_cpu {

template <int N>
class StridedWalk {
  // Tile appends two dimensions an axis.
  static constexpr int kMaxDims = 2 * kMaxRank;

 public:
  int rank() const { return rank_; }
  int64_t dim(int axis) const { return dims_[axis]; }
  int64_t stride(int operand, int axis) const { return strides_[operand][axis]; }
  // The innermost dimension: its length and the operand's stride along it.
  int64_t inner() const { return dims_[rank_ - 1]; }
  int64_t inner_stride(int operand) const { return strides_[operand][rank_ - 1]; }

  // Appends a dimension inside the others. Dimensions of 1 vanish, and a dimension over which every
  // operand goes on as in the one before becomes part of it. Two an axis may be appended.
  void append(int64_t dim, const int64_t (&strides)[N]) {
    if (dim == 1) return;
    if (!empty_ && continues(dim, strides)) {
      dims_[rank_ - 1] *= dim;
    } else {
      if (!empty_) ++rank_;
      dims_[rank_ - 1] = dim;
      empty_ = false;
    }
    for (int i = 0; i < N; ++i) strides_[i][rank_ - 1] = strides[i];
  }

  // Calls visit(position, offsets, count) for runs of `count` elements along the innermost
  // dimension that make up positions [begin, end) of the walk; offsets[i] is where operand i stands
  // in it.
  template <typename F>
  void for_runs(int64_t begin, int64_t end, F&& visit) const {
    if (begin >= end) return;
    int64_t at[kMaxDims];
    int64_t offsets[N] = {};
    locate(begin, at, offsets);
    const int last = rank_ - 1;
    for (int64_t position = begin;;) {
      const int64_t count = std::min(dims_[last] - at[last], end - position);
      visit(position, static_cast<const int64_t*>(offsets), count);
      position += count;
      if (position >= end) return;
      advance_row(at, offsets);
    }
  }

 private:
  bool continues(int64_t dim, const int64_t (&strides)[N]) const {
    for (int i = 0; i < N; ++i) {
      if (strides_[i][rank_ - 1] != dim * strides[i]) return false;
    }
    return true;
  }

  void locate(int64_t position, int64_t* at, int64_t* offsets) const {
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      at[axis] = position % dims_[axis];
      position /= dims_[axis];
      for (int i = 0; i < N; ++i) offsets[i] += at[axis] * strides_[i][axis];
    }
  }

  // To the start of the next row: the innermost index goes to 0, and the ones outside count up.
  void advance_row(int64_t* at, int64_t* offsets) const {
    for (int axis = rank_ - 1;; --axis) {
      for (int i = 0; i < N; ++i) offsets[i] -= at[axis] * strides_[i][axis];
      at[axis] = 0;
      if (axis == 0) return;
      for (int i = 0; i < N; ++i) offsets[i] += strides_[i][axis - 1];
      if (++at[axis - 1] < dims_[axis - 1]) return;
    }
  }

  int rank_ = 1;
  bool empty_ = true;
  int64_t dims_[kMaxDims] = {1};
  int64_t strides_[N][kMaxDims] = {};
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_STRIDED_WALK_H_
