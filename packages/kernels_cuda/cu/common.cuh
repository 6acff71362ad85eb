// What all kernels share.
//
// A kernel is written KERNEL(name, parameters...) { ... }. Its parameters are pointers, Index, double
// or structs of these, so that each takes a multiple of 8 bytes and the host packs them without gaps.
// The same source is compiled for a GPU and, with emulator/shim.h before it, as C++.
#pragma once

#ifndef QANAT_EMULATED
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#endif

typedef long long Index;

// X(T, suffix) for each type that floating-point kernels exist for.
#define QANAT_FLOATS(X) X(float, float32) X(double, float64)

constexpr int kMaxRank = 8;
// Of blocks whose threads work together.
constexpr int kBlock = 256;

// A loop over `count` elements, shared by all threads of the grid.
__device__ inline Index first_index() { return Index(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline Index index_stride() { return Index(gridDim.x) * blockDim.x; }

// Combines the values of a block's kBlock threads in an order that never changes; every thread gets
// the result. All threads of the block must call it.
template <typename T, typename Combine>
__device__ inline T combine_block(T value, Combine combine) {
  __shared__ T partial[kBlock];
  const int thread = threadIdx.x;
  __syncthreads();  // whoever still reads the result of an earlier call
  partial[thread] = value;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] = combine(partial[thread], partial[thread + half]);
    __syncthreads();
  }
  return partial[0];
}

struct Plus {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

// NaN where either is NaN.
struct Larger {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};

struct Smaller {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
