// Elements that are only moved: by their size, not by their type; strings are copied as values.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_ELEMENTS_H_
#define PACKAGES_KERNELS_CPU_NATIVE_ELEMENTS_H_

#include <algorithm>
#include <cstring>

#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {

// complex128 as plain storage.
struct Storage16 {
  uint64_t words[2];
};

// Calls visit(TypeTag<E>) for the storage type of dtype, one of five plain ones or Bytes.
template <typename F>
void visit_storage(DType dtype, F&& visit) {
  if (dtype == DType::kString) {
    visit(TypeTag<Bytes>{});
    return;
  }
  switch (dtype_size(dtype)) {
    case 1:
      return visit(TypeTag<uint8_t>{});
    case 2:
      return visit(TypeTag<uint16_t>{});
    case 4:
      return visit(TypeTag<uint32_t>{});
    case 8:
      return visit(TypeTag<uint64_t>{});
    case 16:
      return visit(TypeTag<Storage16>{});
    default:
      return;
  }
}

template <typename E>
void copy_run(const E* from, E* to, int64_t count) {
  if constexpr (std::is_same_v<E, Bytes>) {
    std::copy(from, from + count, to);
  } else {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(E));
  }
}

template <typename E>
void fill_run(const E& value, E* to, int64_t count) {
  std::fill(to, to + count, value);
}

// `count` elements of a tensor's memory, from an element index.
inline void copy_elements(const TensorView& from, int64_t from_index, const TensorView& to,
                          int64_t to_index, int64_t count) {
  if (count <= 0) return;
  const int64_t size = static_cast<int64_t>(dtype_size(from.dtype));
  if (from.dtype == DType::kString) {
    copy_run(from.as<Bytes>() + from_index, to.as<Bytes>() + to_index, count);
  } else {
    copy_run(from.as<char>() + from_index * size, to.as<char>() + to_index * size, count * size);
  }
}

// Sets elements to the all-zero value: 0, false or the empty string. Fresh strings are empty
// already.
inline void zero_elements(const TensorView& to) {
  if (to.num_elements() == 0) return;
  if (to.dtype == DType::kString) {
    fill_run(Bytes(), to.as<Bytes>(), to.num_elements());
  } else {
    std::memset(to.data, 0, to.num_bytes());
  }
}

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_ELEMENTS_H_
