// The pointwise functions of floating-point numbers: the table from which all their kernels are made,
// and the instructions of fused programs. The host reads it, too: an op is added by one line here.
#pragma once

// X(op, value) for functions of x.
// clang-format off
#define QANAT_UNARY(X)                                           \
  X(Abs, fabs(x))                                                \
  X(Acos, acos(x))                                               \
  X(Asin, asin(x))                                               \
  X(Atan, atan(x))                                               \
  X(Cbrt, cbrt(x))                                               \
  X(Ceil, ceil(x))                                               \
  X(Cos, cos(x))                                                 \
  X(Cosh, cosh(x))                                               \
  X(Elu, x < 0 ? expm1(x) : x)                                   \
  X(Erf, erf(x))                                                 \
  X(Erfc, erfc(x))                                               \
  X(Exp, exp(x))                                                 \
  X(Expm1, expm1(x))                                             \
  X(Floor, floor(x))                                             \
  X(Log, log(x))                                                 \
  X(Log1p, log1p(x))                                             \
  X(Neg, -x)                                                     \
  X(Reciprocal, 1 / x)                                           \
  X(Relu, x > 0 || x != x ? x : T(0))                            \
  X(Relu6, x > 6 ? T(6) : x > 0 || x != x ? x : T(0))            \
  X(Rint, rint(x))                                               \
  X(Round, rint(x))                                              \
  X(Rsqrt, 1 / sqrt(x))                                          \
  X(Sigmoid, 1 / (1 + exp(-x)))                                  \
  X(Sign, x > 0 ? T(1) : x < 0 ? T(-1) : x)                      \
  X(Sin, sin(x))                                                 \
  X(Sinh, sinh(x))                                               \
  X(Softplus, (x > 0 || x != x ? x : T(0)) + log1p(exp(-fabs(x)))) \
  X(Softsign, x / (1 + fabs(x)))                                 \
  X(Sqrt, sqrt(x))                                               \
  X(Square, x * x)                                               \
  X(Tan, tan(x))                                                 \
  X(Tanh, tanh(x))

// X(op, value) for functions of x and y. In gradients where a derivative is unbounded, an incoming
// gradient of exactly 0 gives 0.
#define QANAT_BINARY(X)                                          \
  X(Add, x + y)                                                  \
  X(Atan2, atan2(x, y))                                          \
  X(DivNoNan, y == 0 ? T(0) : x / y)                             \
  X(EluGrad, y < 0 ? x * (y + 1) : x)                            \
  X(Maximum, x > y || x != x ? x : y)                            \
  X(Minimum, x < y || x != x ? x : y)                            \
  X(Mul, x * y)                                                  \
  X(MulNoNan, y == 0 ? T(0) : x * y)                             \
  X(Pow, pow(x, y))                                              \
  X(RealDiv, x / y)                                              \
  X(Relu6Grad, y > 0 && y < 6 ? x : T(0))                        \
  X(ReluGrad, y > 0 ? x : T(0))                                  \
  X(RsqrtGrad, y == 0 ? T(0) : y * T(-0.5) * (x * x * x))        \
  X(SigmoidGrad, y * x * (1 - x))                                \
  X(SoftplusGrad, x / (1 + exp(-y)))                             \
  X(SqrtGrad, y == 0 ? T(0) : y * T(0.5) / x)                    \
  X(SquaredDifference, (x - y) * (x - y))                        \
  X(Sub, x - y)                                                  \
  X(TanhGrad, y * (1 - x * x))                                   \
  X(Xdivy, x == 0 ? T(0) : x / y)

// X(op, value) for comparisons of x and y.
#define QANAT_COMPARISON(X)                                      \
  X(Equal, x == y)                                               \
  X(Greater, x > y)                                              \
  X(GreaterEqual, x >= y)                                        \
  X(Less, x < y)                                                 \
  X(LessEqual, x <= y)                                           \
  X(NotEqual, x != y)
// clang-format on

namespace pointwise {

#define QANAT_FUNCTION(name, value)      \
  struct name {                          \
    template <typename T>                \
    __device__ static T apply(T x) {     \
      return value;                      \
    }                                    \
  };
QANAT_UNARY(QANAT_FUNCTION)
#undef QANAT_FUNCTION

#define QANAT_FUNCTION(name, value)       \
  struct name {                           \
    template <typename T>                 \
    __device__ static T apply(T x, T y) { \
      return value;                       \
    }                                     \
  };
QANAT_BINARY(QANAT_FUNCTION)
#undef QANAT_FUNCTION

#define QANAT_FUNCTION(name, value)          \
  struct name {                              \
    template <typename T>                    \
    __device__ static bool apply(T x, T y) { \
      return value;                          \
    }                                        \
  };
QANAT_COMPARISON(QANAT_FUNCTION)
#undef QANAT_FUNCTION

}  // namespace pointwise
