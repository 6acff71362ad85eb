#include "packages/kernels_cpu/native/half_tiles.h"

namespace qanat::kernels_cpu {
namespace {

template <typename H>
void widen_as(const void* from, float* to, int64_t n) {
  const H* halves = static_cast<const H*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(halves[i]);
}

template <typename H>
void narrow_as(const float* from, void* to, int64_t n) {
  H* halves = static_cast<H*>(to);
  for (int64_t i = 0; i < n; ++i) halves[i] = H(from[i]);
}

}  // namespace

void widen(DType dtype, const void* from, float* to, int64_t n) {
  if (dtype == DType::kFloat16) {
    widen_as<Float16>(from, to, n);
  } else {
    widen_as<BFloat16>(from, to, n);
  }
}

void narrow(DType dtype, const float* from, void* to, int64_t n) {
  if (dtype == DType::kFloat16) {
    narrow_as<Float16>(from, to, n);
  } else {
    narrow_as<BFloat16>(from, to, n);
  }
}

}  // namespace qanat::kernels_cpu
