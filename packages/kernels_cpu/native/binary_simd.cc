// Binary elementwise loops, compiled once per instruction set.
#include "packages/kernels_cpu/native/loop_support.h"

namespace qanat::kernels_cpu::QANAT_SIMD_NS {
namespace {

// An op is a struct with `takes<T>`, the element types it is defined for, and apply(a, b,
// parameter).
struct OnNumbers {
  template <typename T>
  static constexpr bool takes = is_number<T>;
};
struct OnFloats {
  template <typename T>
  static constexpr bool takes = is_float<T>;
};
struct OnBools {
  template <typename T>
  static constexpr bool takes = std::is_same_v<T, bool>;
};
struct OnAny {
  template <typename T>
  static constexpr bool takes = true;
};

struct Add : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return a + b;
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};

struct Sub : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return a - b;
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};

struct Mul : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return a * b;
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};

// Towards 0 for integers. The smallest integer divided by -1 wraps to itself.
struct Div : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_integer<T> && std::is_signed_v<T>) {
      if (b == -1) return Sub::apply(T{0}, a, T{});
    }
    return static_cast<T>(a / b);
  }
};

// The remainder that has the sign of a.
struct TruncateMod : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return c_fmod(a, b);
    if constexpr (is_integer<T>) {
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return 0;
      }
      return static_cast<T>(a % b);
    }
  }
};

// The remainder that has the sign of b.
struct FloorMod : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    const T rest = TruncateMod::apply(a, b, T{});
    if constexpr (is_float<T>) {
      if (rest == 0) return c_copysign(T{0}, b);
    }
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};

struct FloorDiv : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return c_floor(a / b);
    const T quotient = Div::apply(a, b, T{});
    const bool rounded_up = TruncateMod::apply(a, b, T{}) != 0 && (a < 0) != (b < 0);
    return rounded_up ? static_cast<T>(quotient - 1) : quotient;
  }
};

// By squaring for integers, whose exponents are not negative.
struct Pow : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    if constexpr (is_float<T>) return c_pow(a, b);
    if constexpr (is_integer<T>) {
      T power = 1;
      for (; b > 0; b = static_cast<T>(b >> 1)) {
        if (b & 1) power = Mul::apply(power, a, T{});
        a = Mul::apply(a, a, T{});
      }
      return power;
    }
  }
};

// NaN where either is NaN.
struct Maximum : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return a > b || a != a ? a : b;
  }
};

struct Minimum : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return a < b || a != a ? a : b;
  }
};

struct SquaredDifference : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    const T difference = Sub::apply(a, b, T{});
    return Mul::apply(difference, difference, T{});
  }
};

// 0 where b is 0, whatever a is.
struct DivNoNan : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return b == 0 ? T{0} : a / b;
  }
};

// 0 where b is 0, whatever a is.
struct MulNoNan : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return b == 0 ? T{0} : a * b;
  }
};

// 0 where a is 0, whatever b is.
struct Xdivy : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return a == 0 ? T{0} : a / b;
  }
};

struct Atan2 : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T a, T b, T) {
    return c_atan2(a, b);
  }
};

// Gradients of one-argument functions. In the first five, y is the function's result and comes
// first; where the derivative is unbounded, an incoming gradient of exactly 0 gives 0.
struct TanhGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T y, T dy, T) {
    return dy * (1 - y * y);
  }
};

struct SigmoidGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T y, T dy, T) {
    return dy * y * (1 - y);
  }
};

struct SqrtGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T y, T dy, T) {
    return dy == 0 ? T{0} : dy * T{0.5} / y;
  }
};

struct RsqrtGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T y, T dy, T) {
    return dy == 0 ? T{0} : dy * T{-0.5} * (y * y * y);
  }
};

struct ReciprocalGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T y, T dy, T) {
    return dy == 0 ? T{0} : -dy * (y * y);
  }
};

// In these the gradient comes first, and x is the function's argument.
struct ReluGrad : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T x, T) {
    return x > 0 ? dy : T{0};
  }
};

struct Relu6Grad : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T x, T) {
    return x > 0 && x < 6 ? dy : T{0};
  }
};

struct LeakyReluGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T x, T alpha) {
    return x > 0 ? dy : dy * alpha;
  }
};

struct SoftplusGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T x, T) {
    return dy / (1 + c_exp(-x));
  }
};

struct SoftsignGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T x, T) {
    const T root = 1 + c_fabs(x);
    return dy / (root * root);
  }
};

// In these two, y is the function's result.
struct EluGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T y, T) {
    return y < 0 ? dy * (y + 1) : dy;
  }
};

struct SeluGrad : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T dy, T y, T) {
    return y < 0 ? dy * (y + static_cast<T>(kSeluScaleAlpha)) : dy * static_cast<T>(kSeluScale);
  }
};

struct Less : OnNumbers {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a < b;
  }
};

struct LessEqual : OnNumbers {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a <= b;
  }
};

struct Greater : OnNumbers {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a > b;
  }
};

struct GreaterEqual : OnNumbers {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a >= b;
  }
};

struct Equal : OnAny {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a == b;
  }
};

struct NotEqual : OnAny {
  template <typename T>
  QANAT_INLINE static bool apply(T a, T b, T) {
    return a != b;
  }
};

struct LogicalAnd : OnBools {
  QANAT_INLINE static bool apply(bool a, bool b, bool) { return a & b; }
};

struct LogicalOr : OnBools {
  QANAT_INLINE static bool apply(bool a, bool b, bool) { return a | b; }
};

template <typename Op, typename T>
struct Loops {
  using Result = decltype(Op::apply(T{}, T{}, T{}));

  static void same(const void* a, const void* b, void* out, int64_t n, double parameter) {
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    Result* z = static_cast<Result*>(out);
    const T alpha = static_cast<T>(parameter);
    QANAT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x[i], y[i], alpha);
  }

  static void scalar_left(const void* a, const void* b, void* out, int64_t n, double parameter) {
    const T x = *static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    Result* z = static_cast<Result*>(out);
    const T alpha = static_cast<T>(parameter);
    QANAT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x, y[i], alpha);
  }

  static void scalar_right(const void* a, const void* b, void* out, int64_t n, double parameter) {
    const T* x = static_cast<const T*>(a);
    const T y = *static_cast<const T*>(b);
    Result* z = static_cast<Result*>(out);
    const T alpha = static_cast<T>(parameter);
    QANAT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) z[i] = Op::apply(x[i], y, alpha);
  }
};

template <typename Op>
struct Finder {
  template <typename T>
  static BinaryLoops find() {
    if constexpr (Op::template takes<T>) {
      return {Loops<Op, T>::same, Loops<Op, T>::scalar_left, Loops<Op, T>::scalar_right};
    }
    return {};
  }
};

BinaryLoops find(BinaryOp op, DType dtype) {
  switch (op) {
#define QANAT_CASE(name)  \
  case BinaryOp::k##name: \
    return find_by_dtype<Finder<name>, BinaryLoops>(dtype);
    QANAT_BINARY_OPS(QANAT_CASE)
#undef QANAT_CASE
  }
  return {};
}

}  // namespace

extern const BinaryLoopTable binary_loop_table;
const BinaryLoopTable binary_loop_table = {find};

}  // namespace qanat::kernels_cpu::QANAT_SIMD_NS
