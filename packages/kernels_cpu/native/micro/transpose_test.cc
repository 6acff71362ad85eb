#include "packages/kernels_cpu/native/micro/transpose.h"

#include <algorithm>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

using Bytes = std::vector<char>;

Bytes expected(const std::vector<int64_t>& sizes, const std::vector<int>& perm, int element_bytes,
               const Bytes& input) {
  const int rank = static_cast<int>(sizes.size());
  std::vector<int64_t> strides(sizes.size(), 1), at(sizes.size(), 0);
  for (int i = rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * sizes[i + 1];
  Bytes output(input.size());
  for (size_t to = 0; to < output.size(); to += element_bytes) {
    int64_t from = 0;
    for (int i = 0; i < rank; ++i) from += at[i] * strides[perm[i]];
    std::copy_n(input.begin() + from * element_bytes, element_bytes, output.begin() + to);
    for (int i = rank - 1; i >= 0 && ++at[i] == sizes[perm[i]]; --i) at[i] = 0;
  }
  return output;
}

void check(Random& random, const std::vector<int64_t>& sizes, const std::vector<int>& perm) {
  int64_t elements = 1;
  for (int64_t size : sizes) elements *= size;
  for (int element_bytes : {1, 2, 4, 8, 16}) {
    Bytes input(elements * element_bytes);
    for (char& byte : input) byte = static_cast<char>(random.between(-128, 127));
    const Bytes e = expected(sizes, perm, element_bytes, input);
    for (int threads : {1, 2}) {
      TestThreads parallel(threads);
      Bytes output(input.size(), 7);
      transpose(static_cast<int>(sizes.size()), sizes.data(), perm.data(), element_bytes,
                input.data(), output.data(), parallel);
      CHECK(output == e);
    }
  }
}

void check_all() {
  Random random;
  check(random, {}, {});
  check(random, {300, 200}, {1, 0});
  check(random, {5, 90, 3, 40}, {0, 3, 2, 1});
  check(random, {60, 50, 9}, {1, 0, 2});
  check(random, {2, 3, 4, 5, 6}, {4, 2, 0, 3, 1});
  for (int i = 0; i < 100; ++i) {
    std::vector<int64_t> sizes(random.between(1, 5));
    std::vector<int> perm(sizes.size());
    for (size_t j = 0; j < sizes.size(); ++j) {
      sizes[j] = random.between(0, 9) == 0 ? random.between(0, 30) : random.between(1, 9);
      perm[j] = static_cast<int>(j);
    }
    for (size_t j = sizes.size() - 1; j > 0; --j) {
      std::swap(perm[j], perm[random.between(0, static_cast<int64_t>(j))]);
    }
    check(random, sizes, perm);
  }
}

TEST(permutations_agree_with_the_plain_loops) { for_each_level(check_all); }

}  // namespace
}  // namespace qanat::micro
