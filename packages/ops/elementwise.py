"""Elementwise functions of one tensor.

Where a derivative is unbounded (`log` at 0), its product with an incoming gradient of exactly 0 is
0: `mul_no_nan` and `xdivy` say so, and the fused gradient ops do the same. Hence `where(x > 0,
log(x), 0)` has the gradient 0 at 0, not NaN.
"""

import math
from typing import Annotated

from qanat.core import dtypes
from qanat.core.graph import Operation, Output, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import merge
from qanat.ops import arithmetic

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "log1p",
    "log_sigmoid",
    "negative",
    "reciprocal",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]

T = Annotated[In, "T"]


@op("Neg", outputs="y: T", T=dtypes.REAL, pointwise=True)
def negative(x: T) -> Shapes:
    """-x, elementwise; unsigned integers wrap."""
    return [x.shape]


@negative.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [negative(grad)]


@op("Abs", outputs="y: T", T=dtypes.REAL, pointwise=True)
def abs(x: T) -> Shapes:
    """|x|, elementwise. The most negative integer is its own absolute value; the derivative at 0 is
    0.
    """
    return [x.shape]


@abs.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * sign(op.inputs[0])]


@op("Sign", outputs="y: T", T=dtypes.REAL, pointwise=True)
def sign(x: T) -> Shapes:
    """-1, 0 or 1 with the sign of x, elementwise; NaN stays NaN. Its derivative is 0 everywhere."""
    return [x.shape]


@op("Exp", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def exp(x: T) -> Shapes:
    """e to the power x, elementwise; inf where that overflows."""
    return [x.shape]


@exp.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.mul_no_nan(op.outputs[0], grad)]


@op("Expm1", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def expm1(x: T) -> Shapes:
    """exp(x) - 1, elementwise, exact to rounding for x near 0."""
    return [x.shape]


@expm1.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.mul_no_nan(exp(op.inputs[0]), grad)]


@op("Log", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def log(x: T) -> Shapes:
    """Natural logarithm, elementwise: -inf at 0, NaN for negative x."""
    return [x.shape]


@log.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.xdivy(grad, op.inputs[0])]


@op("Log1p", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def log1p(x: T) -> Shapes:
    """log(1 + x), elementwise, exact to rounding for x near 0."""
    return [x.shape]


@log1p.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.xdivy(grad, op.inputs[0] + 1)]


@op("Sqrt", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def sqrt(x: T) -> Shapes:
    """Square root, elementwise; NaN for negative x."""
    return [x.shape]


@sqrt.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [sqrt_grad(op.outputs[0], grad)]


@op("SqrtGrad", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def sqrt_grad(y: T, dy: T) -> Shapes:
    """Gradient of y = sqrt(x): 0.5 * dy / y, and 0 where dy is 0."""
    return [merge(y.shape, dy.shape)]


@sqrt_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    y, dy = op.inputs
    by_y = arithmetic.xdivy(grad, y)
    return [arithmetic.mul_no_nan(-by_y / y, dy) * 0.5, by_y * 0.5]


@op("Cbrt", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def cbrt(x: T) -> Shapes:
    """Cube root, elementwise; negative for negative x."""
    return [x.shape]


@cbrt.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.xdivy(grad, 3 * square(op.outputs[0]))]


@op("Rsqrt", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def rsqrt(x: T) -> Shapes:
    """1 / sqrt(x), elementwise: inf at 0, NaN for negative x."""
    return [x.shape]


@rsqrt.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [rsqrt_grad(op.outputs[0], grad)]


@op("RsqrtGrad", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def rsqrt_grad(y: T, dy: T) -> Shapes:
    """Gradient of y = rsqrt(x): -0.5 * dy * y^3, and 0 where dy is 0."""
    return [merge(y.shape, dy.shape)]


@rsqrt_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    y, dy = op.inputs
    return [arithmetic.mul_no_nan(grad * y * y * -1.5, dy), rsqrt_grad(y, grad)]


@op("Square", outputs="y: T", T=dtypes.REAL, pointwise=True)
def square(x: T) -> Shapes:
    """x * x, elementwise; integers wrap."""
    return [x.shape]


@square.gradient
def _(op: Operation, grad: Output) -> Grads:
    x = op.inputs[0]
    return [grad * (x + x)]


@op("Reciprocal", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def reciprocal(x: T) -> Shapes:
    """1 / x, elementwise: inf of x's sign at 0."""
    return [x.shape]


@reciprocal.gradient
def _(op: Operation, grad: Output) -> Grads:
    y = op.outputs[0]
    return [arithmetic.mul_no_nan(-square(y), grad)]


@op("Sin", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def sin(x: T) -> Shapes:
    """Sine of x in radians, elementwise; NaN for infinite x."""
    return [x.shape]


@sin.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * cos(op.inputs[0])]


@op("Cos", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def cos(x: T) -> Shapes:
    """Cosine of x in radians, elementwise; NaN for infinite x."""
    return [x.shape]


@cos.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [-grad * sin(op.inputs[0])]


@op("Tan", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def tan(x: T) -> Shapes:
    """Tangent of x in radians, elementwise; NaN for infinite x."""
    return [x.shape]


@tan.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * (1 + square(op.outputs[0]))]


@op("Asin", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def asin(x: T) -> Shapes:
    """The angle in [-pi/2, pi/2] whose sine is x, elementwise; NaN for |x| > 1."""
    return [x.shape]


@asin.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.xdivy(grad, sqrt(1 - square(op.inputs[0])))]


@op("Acos", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def acos(x: T) -> Shapes:
    """The angle in [0, pi] whose cosine is x, elementwise; NaN for |x| > 1."""
    return [x.shape]


@acos.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [-arithmetic.xdivy(grad, sqrt(1 - square(op.inputs[0])))]


@op("Atan", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def atan(x: T) -> Shapes:
    """The angle in [-pi/2, pi/2] whose tangent is x, elementwise."""
    return [x.shape]


@atan.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad / (1 + square(op.inputs[0]))]


@op("Sinh", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def sinh(x: T) -> Shapes:
    """Hyperbolic sine, elementwise."""
    return [x.shape]


@sinh.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.mul_no_nan(cosh(op.inputs[0]), grad)]


@op("Cosh", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def cosh(x: T) -> Shapes:
    """Hyperbolic cosine, elementwise."""
    return [x.shape]


@cosh.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [arithmetic.mul_no_nan(sinh(op.inputs[0]), grad)]


@op("Tanh", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def tanh(x: T) -> Shapes:
    """Hyperbolic tangent, elementwise."""
    return [x.shape]


@tanh.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [tanh_grad(op.outputs[0], grad)]


@op("TanhGrad", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def tanh_grad(y: T, dy: T) -> Shapes:
    """Gradient of y = tanh(x): dy * (1 - y^2)."""
    return [merge(y.shape, dy.shape)]


@tanh_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    y, dy = op.inputs
    return [grad * dy * y * -2, tanh_grad(y, grad)]


@op("Sigmoid", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def sigmoid(x: T) -> Shapes:
    """1 / (1 + exp(-x)), elementwise, without overflow."""
    return [x.shape]


@sigmoid.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [sigmoid_grad(op.outputs[0], grad)]


@op("SigmoidGrad", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def sigmoid_grad(y: T, dy: T) -> Shapes:
    """Gradient of y = sigmoid(x): dy * y * (1 - y)."""
    return [merge(y.shape, dy.shape)]


@sigmoid_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    y, dy = op.inputs
    return [grad * dy * (1 - 2 * y), sigmoid_grad(y, grad)]


@op("Erf", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def erf(x: T) -> Shapes:
    """The error function 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x, elementwise."""
    return [x.shape]


@erf.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * exp(-square(op.inputs[0])) * (2 / math.sqrt(math.pi))]


@op("Erfc", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def erfc(x: T) -> Shapes:
    """1 - erf(x), elementwise, with full precision for large x, too."""
    return [x.shape]


@erfc.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad * exp(-square(op.inputs[0])) * (-2 / math.sqrt(math.pi))]


@op("Floor", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def floor(x: T) -> Shapes:
    """The largest integer that is not above x, elementwise. Its derivative is 0 everywhere."""
    return [x.shape]


@op("Ceil", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def ceil(x: T) -> Shapes:
    """The smallest integer that is not below x, elementwise. Its derivative is 0 everywhere."""
    return [x.shape]


@op("Round", outputs="y: T", T=dtypes.REAL, pointwise=True)
def round(x: T) -> Shapes:
    """The nearest integer, elementwise; halves to the even one. Its derivative is 0 everywhere."""
    return [x.shape]


@op("Rint", outputs="y: T", T=dtypes.FLOATING, pointwise=True)
def rint(x: T) -> Shapes:
    """The nearest integer, elementwise; halves to the even one. Its derivative is 0 everywhere."""
    return [x.shape]


@sign.gradient
@floor.gradient
@ceil.gradient
@round.gradient
@rint.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None]


@op("IsNan", outputs="y: bool", T=dtypes.FLOATING, differentiable=False)
def is_nan(x: T) -> Shapes:
    """True where x is NaN, elementwise."""
    return [x.shape]


@op("IsInf", outputs="y: bool", T=dtypes.FLOATING, differentiable=False)
def is_inf(x: T) -> Shapes:
    """True where x is inf or -inf, elementwise."""
    return [x.shape]


@op("IsFinite", outputs="y: bool", T=dtypes.FLOATING, differentiable=False)
def is_finite(x: T) -> Shapes:
    """True where x is neither infinite nor NaN, elementwise."""
    return [x.shape]


def log_sigmoid(x: Output, name: str | None = None) -> Output:
    """log(sigmoid(x)), elementwise, without overflow: -softplus(-x)."""
    from qanat.ops import activations

    with name_scope(name, "LogSigmoid", [x]):
        return -activations.softplus(-x)
