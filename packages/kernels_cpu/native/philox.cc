#include "packages/kernels_cpu/native/philox.h"

#include "packages/kernels_cpu/native/simd/dispatch.h"

namespace qanat::kernels_cpu {

QANAT_SIMD_DECLARE(RandomTable, random_table)

void random_words(const PhiloxStream& stream, uint64_t block, uint32_t* words) {
  QANAT_SIMD_SELECT(random_table).words(stream, block, words);
}

void random_normals(const uint32_t* words, float* normals) {
  QANAT_SIMD_SELECT(random_table).normals_f32(words, normals);
}

void random_normals(const uint32_t* words, double* normals) {
  QANAT_SIMD_SELECT(random_table).normals_f64(words, normals);
}

}  // namespace qanat::kernels_cpu
