// Sets of element types, and registration over them.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_TYPES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_TYPES_H_

#include <cstdint>
#include <type_traits>

#include "packages/core/native/kernel/registry.h"

namespace qanat::kernels_cpu {

// A set of dtypes, one bit each.
class DTypes {
 public:
  constexpr DTypes() = default;
  constexpr DTypes(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= bit(dtype);
  }
  constexpr bool contains(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  constexpr DTypes operator|(DTypes other) const {
    DTypes both;
    both.bits_ = bits_ | other.bits_;
    return both;
  }

 private:
  static constexpr uint32_t bit(DType dtype) { return uint32_t{1} << static_cast<int>(dtype); }
  uint32_t bits_ = 0;
};

inline constexpr DTypes kFloats = {DType::kFloat32, DType::kFloat64};
inline constexpr DTypes kHalves = {DType::kFloat16, DType::kBFloat16};
inline constexpr DTypes kIntegers = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                                     DType::kUInt8, DType::kUInt16, DType::kUInt32, DType::kUInt64};
inline constexpr DTypes kComplexes = {DType::kComplex64, DType::kComplex128};
inline constexpr DTypes kBools = {DType::kBool};
inline constexpr DTypes kStrings = {DType::kString};
inline constexpr DTypes kReals = kFloats | kHalves | kIntegers;
inline constexpr DTypes kNumbers = kReals | kComplexes;
// Everything that an array can hold and move; a resource handle is never moved.
inline constexpr DTypes kArrays = kNumbers | kBools | kStrings;
inline constexpr DTypes kIndices = {DType::kInt32, DType::kInt64};

// Registers K for each dtype of the set in place of the op's type attr.
template <typename K>
QANAT_SELECTING void add_each(KernelRegistry& registry, const char* op, const char* attr,
                              DTypes dtypes, uint32_t flags = kPlain) {
#define QANAT_ADD(e, type, name)                          \
  if (is_selected(DType::e) && dtypes.contains(DType::e)) \
    registry.add<K>(op, {{attr, DType::e}}, flags);
  QANAT_DTYPES(QANAT_ADD)
#undef QANAT_ADD
}

// A type as a value, for visitors: [&](auto tag) { using T = typename decltype(tag)::type; ... }.
template <typename T>
struct TypeTag {
  using type = T;
};

// Whether kernels of this build may meet elements of the type: those they are registered for, and
// beside these indices and conditions.
constexpr bool is_met(DType dtype) {
  return is_selected(dtype) || (kIndices | kBools).contains(dtype);
}

// Calls visit(TypeTag<T>) if T is the type of dtype.
template <typename T, typename F>
bool visit_one(DType dtype, F&& visit) {
  if constexpr (is_met(dtype_of<T>)) {
    if (dtype_of<T> == dtype) return visit(TypeTag<T>{}), true;
  }
  return false;
}

// Calls visit(TypeTag<T>) for the T of dtype; false, and no call, where it is none of the Ts.
template <typename... Ts, typename F>
bool visit_type(DType dtype, F&& visit) {
  return (visit_one<Ts>(dtype, visit) || ...);
}

template <typename F>
bool visit_integers(DType dtype, F&& visit) {
  return visit_type<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(
      dtype, visit);
}

template <typename F>
bool visit_reals(DType dtype, F&& visit) {
  return visit_type<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                    uint64_t, Float16, BFloat16>(dtype, visit);
}

// All numbers, and bool.
template <typename F>
bool visit_number(DType dtype, F&& visit) {
  return visit_type<float, double, int32_t, uint8_t, int16_t, int8_t, std::complex<float>, int64_t,
                    bool, BFloat16, uint16_t, std::complex<double>, Float16, uint32_t, uint64_t>(
      dtype, visit);
}

template <typename T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// The type that arithmetic on T is done in.
template <typename T>
using Computed = std::conditional_t<is_half<T>, float, T>;

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_TYPES_H_
