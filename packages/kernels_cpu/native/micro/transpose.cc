#include "packages/kernels_cpu/native/micro/transpose.h"

#include <cstring>

#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/transpose_table.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(TransposeTable, transpose_table)

namespace {

constexpr int64_t kBytesPerChunk = 128 << 10;
constexpr int64_t kMostChunks = 64;

// Rows of a matrix that are worth a chunk of their own.
constexpr int64_t kRowsPerChunk = 64;

// One output axis: its size, and how many elements apart its neighbours are in the input and in the
// output.
struct Axis {
  int64_t size;
  int64_t from_stride;
  int64_t to_stride;
};

// The output's axes, outermost first, without those of size 1, and with those merged that lie
// beside each other in the input too.
struct Axes {
  int count = 0;
  Axis of[kMaxTransposeRank];
};

Axes simplified(int rank, const int64_t* sizes, const int* perm) {
  int64_t from_strides[kMaxTransposeRank];
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    from_strides[i] = stride;
    stride *= sizes[i];
  }
  Axes axes;
  for (int i = 0; i < rank; ++i) {
    const Axis axis = {sizes[perm[i]], from_strides[perm[i]], 0};
    if (axis.size == 1) continue;
    Axis* last = axes.count > 0 ? &axes.of[axes.count - 1] : nullptr;
    if (last != nullptr && last->from_stride == axis.size * axis.from_stride) {
      last->size *= axis.size;
      last->from_stride = axis.from_stride;
    } else {
      axes.of[axes.count++] = axis;
    }
  }
  stride = 1;
  for (int i = axes.count - 1; i >= 0; --i) {
    axes.of[i].to_stride = stride;
    stride *= axes.of[i].size;
  }
  return axes;
}

Axis take(Axes& axes, int index) {
  const Axis axis = axes.of[index];
  for (int i = index; i + 1 < axes.count; ++i) axes.of[i] = axes.of[i + 1];
  --axes.count;
  return axis;
}

TransposeMatrix matrix_kernel(int element_bytes) {
  const TransposeTable& table = QANAT_SIMD_SELECT(transpose_table);
  switch (element_bytes) {
    case 1:
      return table.bytes1;
    case 2:
      return table.bytes2;
    case 4:
      return table.bytes4;
    case 8:
      return table.bytes8;
    default:
      return table.bytes16;
  }
}

// Calls run(from offset, to offset) for the positions `range` of the axes, counted with the last
// one fastest.
template <typename Run>
void for_each_position(const Axes& axes, Range range, Run run) {
  for (int64_t position = range.begin; position < range.end; ++position) {
    int64_t from = 0, to = 0, rest = position;
    for (int i = axes.count - 1; i >= 0; --i) {
      const int64_t at = rest % axes.of[i].size;
      rest /= axes.of[i].size;
      from += at * axes.of[i].from_stride;
      to += at * axes.of[i].to_stride;
    }
    run(from, to);
  }
}

int64_t positions(const Axes& axes) {
  int64_t count = 1;
  for (int i = 0; i < axes.count; ++i) count *= axes.of[i].size;
  return count;
}

int64_t chunks_for(int64_t elements, int element_bytes) {
  return max64(1, min64(kMostChunks, elements * element_bytes / kBytesPerChunk));
}

// The last axis is the last one of the input too: runs of elements are copied.
void copy_runs(Axes axes, int element_bytes, const char* from, char* to, Parallel& parallel) {
  Axis run = {1, 1, 1};
  if (axes.count > 0) run = take(axes, axes.count - 1);
  const int64_t runs = positions(axes);
  const int64_t chunks = min64(runs, chunks_for(runs * run.size, element_bytes));
  parallel.for_each(chunks, [&](int64_t chunk) {
    for_each_position(axes, part_of(runs, chunks, chunk), [&](int64_t from_at, int64_t to_at) {
      std::memcpy(to + to_at * element_bytes, from + from_at * element_bytes,
                  static_cast<size_t>(run.size * element_bytes));
    });
  });
}

// A matrix of the input's last axis and the output's last axis is transposed at each position of
// the others.
void transpose_matrices(Axes axes, int element_bytes, const char* from, char* to,
                        Parallel& parallel) {
  const Axis rows = take(axes, axes.count - 1);
  int last_of_input = 0;
  while (axes.of[last_of_input].from_stride != 1) ++last_of_input;
  const Axis cols = take(axes, last_of_input);
  const TransposeMatrix kernel = matrix_kernel(element_bytes);
  const int64_t matrices = positions(axes);
  const int64_t wanted = chunks_for(matrices * rows.size * cols.size, element_bytes);
  const int64_t outer = min64(matrices, wanted);
  const int64_t row_parts = max64(1, min64(rows.size / kRowsPerChunk, wanted / outer));
  parallel.for_each(outer * row_parts, [&](int64_t chunk) {
    const Range part = part_of(rows.size, row_parts, chunk % row_parts, kRowsPerChunk / 4);
    for_each_position(axes, part_of(matrices, outer, chunk / row_parts),
                      [&](int64_t from_at, int64_t to_at) {
                        kernel(from + (from_at + part.begin * rows.from_stride) * element_bytes,
                               part.size(), cols.size, rows.from_stride, cols.to_stride,
                               to + (to_at + part.begin) * element_bytes);
                      });
  });
}

}  // namespace

void transpose(int rank, const int64_t* sizes, const int* perm, int element_bytes,
               const void* input, void* output, Parallel& parallel) {
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return;
  }
  const Axes axes = simplified(rank, sizes, perm);
  const char* from = static_cast<const char*>(input);
  char* to = static_cast<char*>(output);
  if (axes.count == 0 || axes.of[axes.count - 1].from_stride == 1) {
    copy_runs(axes, element_bytes, from, to, parallel);
  } else {
    transpose_matrices(axes, element_bytes, from, to, parallel);
  }
}

}  // namespace qanat::micro
