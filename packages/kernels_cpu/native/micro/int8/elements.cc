// Quantised numbers one by one: conversion, and the maximum over windows.
#include "packages/kernels_cpu/native/micro/blocks.h"
#include "packages/kernels_cpu/native/micro/int8/products.h"
#include "packages/kernels_cpu/native/micro/int8/table.h"
#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::micro {

QANAT_SIMD_DECLARE(Int8Table, int8_table)

namespace {

constexpr int64_t kValuesPerChunk = 128 << 10;
constexpr int64_t kMostChunks = 64;

}  // namespace

void int8_max_pool(const PoolShape& s, const int8_t* input, int8_t* output, Parallel& parallel) {
  const int64_t rows = s.batch * s.out_height;
  const double values = static_cast<double>(rows) * static_cast<double>(s.out_width * s.channels) *
                        static_cast<double>(s.window_h * s.window_w);
  const double wanted = values / kValuesPerChunk + 1;
  const int64_t most = wanted < kMostChunks ? static_cast<int64_t>(wanted) : kMostChunks;
  const int64_t chunks = min64(rows, most);
  parallel.for_each(chunks, [&](int64_t chunk) {
    QANAT_SIMD_SELECT(int8_table).max_rows(s, input, output, part_of(rows, chunks, chunk));
  });
}

void int8_quantize(const float* from, int64_t n, float scale, int32_t zero_point, int8_t* to) {
  QANAT_SIMD_SELECT(int8_table).quantize(from, n, scale, zero_point, to);
}

void int8_dequantize(const int8_t* from, int64_t n, float scale, int32_t zero_point, float* to) {
  QANAT_SIMD_SELECT(int8_table).dequantize(from, n, scale, zero_point, to);
}

}  // namespace qanat::micro
