// Element types. The numbers are those of TensorFlow's DataType, so that graphs are exchanged as
// they are.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_DTYPE_H_
#define PACKAGES_CORE_NATIVE_KERNEL_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/bytes.h"
#include "packages/core/native/kernel/half.h"

namespace qanat {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat32 = 1,
  kFloat64 = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kBFloat16 = 14,
  kUInt16 = 17,
  kComplex128 = 18,
  kFloat16 = 19,
  kResource = 20,
  kUInt32 = 22,
  kUInt64 = 23,
};

// The element of a resource tensor: see resource.h.
class Resource;

// QANAT_DTYPES(X) is X(enumerator, C++ type, name), once a type.
#define QANAT_DTYPES(X)                              \
  X(kFloat32, float, "float32")                      \
  X(kFloat64, double, "float64")                     \
  X(kInt32, int32_t, "int32")                        \
  X(kUInt8, uint8_t, "uint8")                        \
  X(kInt16, int16_t, "int16")                        \
  X(kInt8, int8_t, "int8")                           \
  X(kString, ::qanat::Bytes, "string")               \
  X(kComplex64, std::complex<float>, "complex64")    \
  X(kInt64, int64_t, "int64")                        \
  X(kBool, bool, "bool")                             \
  X(kBFloat16, ::qanat::BFloat16, "bfloat16")        \
  X(kUInt16, uint16_t, "uint16")                     \
  X(kComplex128, std::complex<double>, "complex128") \
  X(kFloat16, ::qanat::Float16, "float16")           \
  X(kResource, ::qanat::Resource*, "resource")       \
  X(kUInt32, uint32_t, "uint32")                     \
  X(kUInt64, uint64_t, "uint64")

// dtype_of<float> == DType::kFloat32.
template <typename T>
inline constexpr DType dtype_of = DType::kInvalid;
#define QANAT_DTYPE_OF(e, type, name) \
  template <>                         \
  inline constexpr DType dtype_of<type> = DType::e;
QANAT_DTYPES(QANAT_DTYPE_OF)
#undef QANAT_DTYPE_OF

// Bytes an element takes; 0 for kInvalid and for numbers that name no type.
constexpr size_t dtype_size(DType dtype) {
  switch (dtype) {
#define QANAT_DTYPE_SIZE(e, type, name) \
  case DType::e:                        \
    return sizeof(type);
    QANAT_DTYPES(QANAT_DTYPE_SIZE)
#undef QANAT_DTYPE_SIZE
    case DType::kInvalid:
      break;
  }
  return 0;
}

constexpr const char* dtype_name(DType dtype) {
  switch (dtype) {
#define QANAT_DTYPE_NAME(e, type, name) \
  case DType::e:                        \
    return name;
    QANAT_DTYPES(QANAT_DTYPE_NAME)
#undef QANAT_DTYPE_NAME
    case DType::kInvalid:
      break;
  }
  return "invalid";
}

// Whether elements may be copied and dropped as plain bytes: all types but strings and resources.
constexpr bool is_plain(DType dtype) {
  return dtype != DType::kString && dtype != DType::kResource;
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_DTYPE_H_
