#include "packages/kernels_cpu/native/micro/reduce.h"

#include <type_traits>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/reduce_table.h"
#include "packages/kernels_cpu/native/micro/slots.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(ReduceTable, reduce_table)

namespace {

constexpr int64_t kValuesPerChunk = 32 << 10;
constexpr int64_t kMostChunks = 32;

// Columns that are worth a chunk of their own.
constexpr int64_t kColumnsPerChunk = 512;

template <typename T>
const ReduceKernels<T>& kernels() {
  const ReduceTable& table = QANAT_SIMD_SELECT(reduce_table);
  if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return table.f64;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return table.i32;
  } else {
    return table.i64;
  }
}

template <typename T>
ReduceRows<T> rows_kernel(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProd:
      return kernels<T>().prod;
    case Reduction::kMax:
      return kernels<T>().max;
    case Reduction::kMin:
      return kernels<T>().min;
    case Reduction::kSum:
    case Reduction::kMean:
      break;
  }
  return kernels<T>().sum;
}

// How the work is divided: outer rows first, then columns, and where there is too little of both,
// the reduced axis, whose parts are reduced in a second pass.
struct Grid {
  int64_t outer;
  int64_t reduced;
  int64_t inner;
};

Grid grid_for(const ReduceShape& s) {
  const int64_t values = s.outer * s.reduced * s.inner;
  const int64_t wanted = max64(1, min64(kMostChunks, values / kValuesPerChunk));
  Grid grid = {max64(1, min64(s.outer, wanted)), 1, 1};
  const int64_t left = ceil_div(wanted, grid.outer);
  if (left == 1) return grid;
  if (s.inner >= left * kColumnsPerChunk) {
    grid.inner = left;
  } else {
    grid.reduced = max64(1, min64(s.reduced, left));
  }
  return grid;
}

// to[o, p, i] = reduction over part p of the reduced axis.
template <typename T>
void reduce_parts(ReduceRows<T> rows, const ReduceShape& s, const Grid& grid, const T* input, T* to,
                  Parallel& parallel) {
  parallel.for_each(grid.outer * grid.reduced * grid.inner, [&](int64_t chunk) {
    const int64_t inner_part = chunk % grid.inner;
    const int64_t part = chunk / grid.inner % grid.reduced;
    const Range outer = part_of(s.outer, grid.outer, chunk / grid.inner / grid.reduced);
    const Range inner = part_of(s.inner, grid.inner, inner_part, kColumnsPerChunk / 4);
    const Range reduced = part_of(s.reduced, grid.reduced, part);
    for (int64_t o = outer.begin; o < outer.end; ++o) {
      rows(input + (o * s.reduced + reduced.begin) * s.inner + inner.begin, reduced.size(), s.inner,
           inner.size(), to + (o * grid.reduced + part) * s.inner + inner.begin);
    }
  });
}

template <typename T>
void divide(int64_t size, int64_t count, T* values) {
  for (int64_t i = 0; i < size; ++i) {
    if constexpr (std::is_integral_v<T>) {
      values[i] = count == 0 ? 0 : static_cast<T>(values[i] / count);
    } else {
      values[i] /= static_cast<T>(count);
    }
  }
}

}  // namespace

template <typename T>
size_t reduce_scratch_bytes(const ReduceShape& shape) {
  const Grid grid = grid_for(shape);
  if (grid.reduced == 1) return 0;
  return static_cast<size_t>(shape.outer * grid.reduced * shape.inner) * sizeof(T);
}

template <typename T>
void reduce(Reduction reduction, const ReduceShape& shape, const T* input, T* output, void* scratch,
            Parallel& parallel) {
  if (shape.outer == 0 || shape.inner == 0) return;
  const ReduceRows<T> rows = rows_kernel<T>(reduction);
  const Grid grid = grid_for(shape);
  if (grid.reduced == 1) {
    reduce_parts(rows, shape, grid, input, output, parallel);
  } else {
    T* parts = static_cast<T*>(scratch);
    reduce_parts(rows, shape, grid, input, parts, parallel);
    reduce_parts(rows, {shape.outer, grid.reduced, shape.inner}, {grid.outer, 1, 1}, parts, output,
                 parallel);
  }
  if (reduction == Reduction::kMean) divide(shape.outer * shape.inner, shape.reduced, output);
}

#define QANAT_INSTANTIATE(T)                                   \
  template size_t reduce_scratch_bytes<T>(const ReduceShape&); \
  template void reduce(Reduction, const ReduceShape&, const T*, T*, void*, Parallel&);

QANAT_INSTANTIATE(float)
QANAT_INSTANTIATE(double)
QANAT_INSTANTIATE(int32_t)
QANAT_INSTANTIATE(int64_t)

}  // namespace qanat::micro
