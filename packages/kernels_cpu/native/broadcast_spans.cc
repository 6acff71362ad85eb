#include "packages/kernels_cpu/native/broadcast_spans.h"

#include "packages/kernels_cpu/native/broadcast.h"
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/ranges.h"

namespace qanat::kernels_cpu {
namespace {

// One computation of a broadcast: out = op(a, b) over a walk of the common shape.
struct Broadcasting {
  const BinarySpans& spans;
  const TensorView& a;
  const TensorView& b;
  const TensorView& out;
  StridedWalk<2> walk;
  size_t in_size;
  size_t out_size;

  const char* operand(int i, int64_t index) const {
    return (i == 0 ? a : b).as<char>() + index * static_cast<int64_t>(in_size);
  }
  char* result(int64_t index) const {
    return out.as<char>() + index * static_cast<int64_t>(out_size);
  }
};

// Rows that are long enough for a loop each.
void run_long_rows(const Broadcasting& job, int64_t begin, int64_t end) {
  const bool left_repeats = job.walk.inner_stride(0) == 0;
  const bool right_repeats = job.walk.inner_stride(1) == 0;
  const Reading reading = left_repeats == right_repeats ? kSame
                          : left_repeats                ? kScalarLeft
                                                        : kScalarRight;
  job.walk.for_runs(begin, end, [&](int64_t at, const int64_t* offsets, int64_t count) {
    job.spans.run(reading, job.operand(0, offsets[0]), job.operand(1, offsets[1]), job.result(at),
                  count);
  });
}

inline constexpr int64_t kShortRow = 32;
inline constexpr int64_t kTile = 512;

// Writes positions [begin, end) of an operand, as the walk reads it, to a tile.
void spread(const Broadcasting& job, int operand, int64_t begin, int64_t end, void* tile) {
  visit_storage(job.a.dtype, [&](auto tag) {
    using E = typename decltype(tag)::type;
    if constexpr (std::is_trivially_copyable_v<E>) {
      const E* from = reinterpret_cast<const E*>(job.operand(operand, 0));
      E* to = static_cast<E*>(tile);
      const int64_t stride = job.walk.inner_stride(operand);
      job.walk.for_runs(begin, end, [&](int64_t, const int64_t* offsets, int64_t count) {
        const E* row = from + offsets[operand];
        for (int64_t i = 0; i < count; ++i) *to++ = row[i * stride];
      });
    }
  });
}

// Short rows: operands that repeat are first spread over a tile of many rows. One that is the same
// in every row is spread once, as all tiles hold whole rows and so start at the same column.
void run_short_rows(const Broadcasting& job, int64_t begin, int64_t end) {
  alignas(kAlignment) char tiles[2][kTile * sizeof(Storage16)];
  const int64_t tile = kTile / job.walk.inner() * job.walk.inner();
  for (int64_t at = begin; at < end; at += tile) {
    const int64_t count = std::min(tile, end - at);
    const void* operands[2];
    for (int i = 0; i < 2; ++i) {
      if ((i == 0 ? job.a : job.b).num_elements() == job.out.num_elements()) {
        operands[i] = job.operand(i, at);
        continue;
      }
      const bool same_rows = job.walk.rank() == 2 && job.walk.stride(i, 0) == 0;
      if (at == begin || !same_rows) spread(job, i, at, at + count, tiles[i]);
      operands[i] = tiles[i];
    }
    job.spans.run(kSame, operands[0], operands[1], job.result(at), count);
  }
}

}  // namespace

void run_broadcast(KernelContext& context, const BinarySpans& spans, const TensorView& a,
                   const TensorView& b, const TensorView& out) {
  const Broadcasting job{spans,
                         a,
                         b,
                         out,
                         broadcast_walk<2>(out.shape, {&a.shape, &b.shape}),
                         dtype_size(a.dtype),
                         dtype_size(out.dtype)};
  const bool short_rows = is_plain(a.dtype) && job.walk.rank() > 1 && job.walk.inner() < kShortRow;
  for_ranges(context, out.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
    (short_rows ? run_short_rows : run_long_rows)(job, begin, end);
  });
}

}  // namespace qanat::kernels_cpu
