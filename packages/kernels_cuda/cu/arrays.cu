// Filling, converting and copying arrays.
#include "common.cuh"

// What is copied element by element, in whatever order: strides in elements.
struct Strided {
  Index count;
  Index rank;
  Index dims[kMaxRank];
  Index strides[kMaxRank];
};

// out, which is contiguous, = x seen through its strides: broadcasts and transposes.
template <typename T>
__device__ void gather(T* out, const T* x, const Strided& from) {
  for (Index i = first_index(); i < from.count; i += index_stride()) {
    Index rest = i, at = 0;
    for (int d = int(from.rank) - 1; d >= 0; --d) {
      at += rest % from.dims[d] * from.strides[d];
      rest /= from.dims[d];
    }
    out[i] = x[at];
  }
}

template <typename T>
__device__ void fill(T* out, const T* value, Index count) {
  for (Index i = first_index(); i < count; i += index_stride()) out[i] = *value;
}

// Elements of one size are copied alike.
#define QANAT_KERNEL(T, suffix)                                                       \
  KERNEL(gather_##suffix, T* out, const T* x, Strided from) { gather(out, x, from); } \
  KERNEL(fill_##suffix, T* out, const T* value, Index count) { fill(out, value, count); }
QANAT_KERNEL(unsigned char, 1)
QANAT_KERNEL(unsigned short, 2)
QANAT_KERNEL(unsigned int, 4)
QANAT_KERNEL(unsigned long long, 8)
#undef QANAT_KERNEL

template <typename From, typename To>
__device__ void cast(To* out, const From* x, Index count) {
  for (Index i = first_index(); i < count; i += index_stride()) out[i] = To(x[i]);
}

#define QANAT_CAST(From, from, To, to) \
  KERNEL(cast_##from##_##to, To* out, const From* x, Index count) { cast(out, x, count); }
#define QANAT_CASTS(To, to)                \
  QANAT_CAST(bool, bool, To, to)           \
  QANAT_CAST(unsigned char, uint8, To, to) \
  QANAT_CAST(int, int32, To, to)           \
  QANAT_CAST(Index, int64, To, to)         \
  QANAT_CAST(float, float32, To, to)       \
  QANAT_CAST(double, float64, To, to)
QANAT_FLOATS(QANAT_CASTS)
#undef QANAT_CASTS
#undef QANAT_CAST
