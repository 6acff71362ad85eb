// Unary elementwise loops, compiled once per instruction set.
#include "packages/kernels_cpu/native/loop_support.h"
#include "packages/kernels_cpu/native/simd/math.h"

namespace qanat::kernels_cpu::QANAT_SIMD_NS {
namespace {

namespace math = simd::QANAT_SIMD_NS;
using math::Vec;

// An op is a struct with `takes<T>`, the element types it is defined for, and apply(x, parameter).
struct OnNumbers {
  template <typename T>
  static constexpr bool takes = is_number<T>;
};
struct OnFloats {
  template <typename T>
  static constexpr bool takes = is_float<T>;
};

// Ops on whole vectors have apply_vector<T>(x) in place of apply.
struct OnVectors : OnFloats {};

// The C library's function.
#define QANAT_LIBRARY_OP(Name, function)  \
  struct Name : OnFloats {                \
    template <typename T>                 \
    QANAT_INLINE static T apply(T x, T) { \
      return c_##function(x);             \
    }                                     \
  };
QANAT_LIBRARY_OP(Sqrt, sqrt)
QANAT_LIBRARY_OP(Cbrt, cbrt)
QANAT_LIBRARY_OP(Tan, tan)
QANAT_LIBRARY_OP(Asin, asin)
QANAT_LIBRARY_OP(Acos, acos)
QANAT_LIBRARY_OP(Atan, atan)
QANAT_LIBRARY_OP(Sinh, sinh)
QANAT_LIBRARY_OP(Cosh, cosh)
QANAT_LIBRARY_OP(Erfc, erfc)
QANAT_LIBRARY_OP(Floor, floor)
QANAT_LIBRARY_OP(Ceil, ceil)
#undef QANAT_LIBRARY_OP

struct Neg : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    if constexpr (is_float<T>) return -x;
    return static_cast<T>(-static_cast<Wrapping<T>>(x));
  }
};

struct Abs : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    if constexpr (is_float<T>) return c_fabs(x);
    return x > 0 ? x : Neg::apply(x, T{});
  }
};

struct Sign : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    if (x > 0) return T{1};
    if constexpr (std::is_signed_v<T>) {
      if (x < 0) return T{-1};
    }
    return x;
  }
};

struct Square : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    if constexpr (is_float<T>) return x * x;
    return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(x));
  }
};

// Halves go to the even neighbour, in the rounding mode that is never changed.
struct Round : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    if constexpr (is_float<T>) return c_rint(x);
    return x;
  }
};

struct Rsqrt : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    return 1 / c_sqrt(x);
  }
};

struct Reciprocal : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    return 1 / x;
  }
};

// In the family of Relu a NaN passes through.
struct Relu : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    return x > 0 || x != x ? x : T{0};
  }
};

struct Relu6 : OnNumbers {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    const T low = Relu::apply(x, T{});
    return low > 6 ? T{6} : low;
  }
};

struct LeakyRelu : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T x, T alpha) {
    return x > 0 ? x : x * alpha;
  }
};

struct Softsign : OnFloats {
  template <typename T>
  QANAT_INLINE static T apply(T x, T) {
    return x / (1 + c_fabs(x));
  }
};

struct IsNan : OnFloats {
  template <typename T>
  QANAT_INLINE static bool apply(T x, T) {
    return x != x;
  }
};

struct IsInf : OnFloats {
  template <typename T>
  QANAT_INLINE static bool apply(T x, T) {
    return c_fabs(x) == static_cast<T>(__builtin_inf());
  }
};

struct IsFinite : OnFloats {
  template <typename T>
  QANAT_INLINE static bool apply(T x, T) {
    return c_fabs(x) < static_cast<T>(__builtin_inf());
  }
};

struct LogicalNot {
  template <typename T>
  static constexpr bool takes = std::is_same_v<T, bool>;
  QANAT_INLINE static bool apply(bool x, bool) { return !x; }
};

// Functions of math.h.
#define QANAT_VECTOR_OP(Name, function)                 \
  struct Name : OnVectors {                             \
    template <typename T>                               \
    QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) { \
      return math::function<T>(x);                      \
    }                                                   \
  };
QANAT_VECTOR_OP(Exp, exp)
QANAT_VECTOR_OP(Expm1, expm1)
QANAT_VECTOR_OP(Log, log)
QANAT_VECTOR_OP(Log1p, log1p)
QANAT_VECTOR_OP(Tanh, tanh)
QANAT_VECTOR_OP(Sigmoid, sigmoid)
QANAT_VECTOR_OP(Erf, erf)
#undef QANAT_VECTOR_OP

struct Sin : OnVectors {
  template <typename T>
  QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) {
    return math::sin(x);
  }
};

struct Cos : OnVectors {
  template <typename T>
  QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) {
    return math::cos(x);
  }
};

struct Elu : OnVectors {
  template <typename T>
  QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) {
    return math::select<Vec<T>>(x < Vec<T>{}, math::expm1<T>(x), x);
  }
};

struct Selu : OnVectors {
  template <typename T>
  QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) {
    return math::select<Vec<T>>(x < Vec<T>{}, static_cast<T>(kSeluScaleAlpha) * math::expm1<T>(x),
                                static_cast<T>(kSeluScale) * x);
  }
};

// log(1 + exp(x)) without overflow.
struct Softplus : OnVectors {
  template <typename T>
  QANAT_INLINE static Vec<T> apply_vector(Vec<T> x) {
    return math::max(Vec<T>{}, x) + math::log1p<T>(math::exp<T>(-math::abs<T>(x)));
  }
};

template <typename Op, typename T>
struct VectorLoop {
  static void run(const void* a, void* out, int64_t n, double) {
    const T* x = static_cast<const T*>(a);
    T* y = static_cast<T*>(out);
    int64_t i = 0;
    for (; i + math::kLanes<T> <= n; i += math::kLanes<T>) {
      math::store<T>(y + i, Op::template apply_vector<T>(math::load(x + i)));
    }
    if (i == n) return;
    const Vec<T> rest = math::load_some(x + i, n - i);
    math::store_some<T>(y + i, Op::template apply_vector<T>(rest), n - i);
  }
};

template <typename Op, typename T>
struct Loops {
  using Result = decltype(Op::apply(T{}, T{}));

  static void run(const void* a, void* out, int64_t n, double parameter) {
    const T* x = static_cast<const T*>(a);
    Result* y = static_cast<Result*>(out);
    const T alpha = static_cast<T>(parameter);
    QANAT_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = Op::apply(x[i], alpha);
  }
};

template <typename Op>
struct Finder {
  template <typename T>
  static UnaryLoop find() {
    if constexpr (!Op::template takes<T>) {
      return nullptr;
    } else if constexpr (std::is_base_of_v<OnVectors, Op>) {
      return VectorLoop<Op, T>::run;
    } else {
      return Loops<Op, T>::run;
    }
  }
};

UnaryLoop find(UnaryOp op, DType dtype) {
  switch (op) {
#define QANAT_CASE(name) \
  case UnaryOp::k##name: \
    return find_by_dtype<Finder<name>, UnaryLoop>(dtype);
    QANAT_UNARY_OPS(QANAT_CASE)
#undef QANAT_CASE
  }
  return nullptr;
}

}  // namespace

extern const UnaryLoopTable unary_loop_table;
const UnaryLoopTable unary_loop_table = {find};

}  // namespace qanat::kernels_cpu::QANAT_SIMD_NS
