// Coordinates into a tensor, the index argument of GatherNd and ScatterNd.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_COORDINATES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_COORDINATES_H_

#include "packages/kernels_cpu/native/indices.h"

namespace qanat::kernels_cpu {

// Indices of shape [..., k]: each row has the first k coordinates of a slice of the target.
struct Coordinates {
  explicit Coordinates(const TensorView& view) : indices(view) {}

  // The slice that row r names, counted in slices.
  int64_t place(int64_t r) const {
    int64_t at = 0;
    for (int i = 0; i < depth; ++i) at = at * dims[i] + indices[r * depth + i];
    return at;
  }

  Indices indices;
  int depth = 0;
  int64_t dims[kMaxRank] = {};  // of the target, as far as the coordinates go
  int64_t rows = 0;
  int64_t row_elements = 0;  // of one slice
  Shape slices;  // of all: the indices' shape without its last dimension, then the slice's
};

// Sets all but `indices` for coordinates that are the input `i` of the node; fails the context
// where one is out of range or the shapes do not go together.
bool read_coordinates(KernelContext& context, int i, const Shape& target, Coordinates* coordinates);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_COORDINATES_H_
