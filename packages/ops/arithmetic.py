"""Arithmetic of two tensors, elementwise with broadcasting.

Integers wrap on overflow. Integer division by zero is an invalid-argument error of the step, and
the most negative integer divided by -1 wraps.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, broadcast, merge
from qanat.ops import broadcasting, casting, comparison, elementwise, shaping

__all__ = [
    "add",
    "add_n",
    "atan2",
    "accumulate_n",
    "div",
    "div_no_nan",
    "divide",
    "floordiv",
    "floormod",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "pow",
    "realdiv",
    "scalar_mul",
    "squared_difference",
    "subtract",
    "truediv",
    "truncatediv",
    "truncatemod",
]

T = Annotated[In, "T"]


def _operands(op: Operation, for_x: Output | None, for_y: Output | None) -> Grads:
    """Sums the gradients of a broadcasting op to the shapes of its two operands."""
    x, y = op.inputs
    return [
        None if for_x is None else broadcasting.sum_to_operand(for_x, x, y),
        None if for_y is None else broadcasting.sum_to_operand(for_y, y, x),
    ]


@op("Add", outputs="z: T", T=dtypes.REAL, pointwise=True)
def add(x: T, y: T) -> Shapes:
    """x + y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@add.gradient
def _(op: Operation, grad: Output) -> Grads:
    return _operands(op, grad, grad)


@op("Sub", outputs="z: T", T=dtypes.REAL, pointwise=True)
def subtract(x: T, y: T) -> Shapes:
    """x - y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@subtract.gradient
def _(op: Operation, grad: Output) -> Grads:
    return _operands(op, grad, -grad)


@op("Mul", outputs="z: T", T=dtypes.REAL, pointwise=True)
def multiply(x: T, y: T) -> Shapes:
    """x * y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@multiply.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _operands(op, grad * y, grad * x)


@op("RealDiv", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def realdiv(x: T, y: T) -> Shapes:
    """x / y of floating-point tensors, elementwise with broadcasting: inf or NaN where y is 0."""
    return [broadcast(x.shape, y.shape)]


@realdiv.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    for_x = xdivy(grad, y)
    return _operands(op, for_x, mul_no_nan(-op.outputs[0] / y, grad))


@op("Div", outputs="z: T", T=dtypes.REAL, pointwise=True)
def div_op(x: T, y: T) -> Shapes:
    """x / y, elementwise with broadcasting; integer quotients are cut towards 0."""
    return [broadcast(x.shape, y.shape)]


@div_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    if x.dtype not in dtypes.FLOATING:
        return [None, None]
    return _operands(op, xdivy(grad, y), mul_no_nan(-op.outputs[0] / y, grad))


@op("FloorDiv", outputs="z: T", T=dtypes.REAL, pointwise=True)
def floordiv(x: T, y: T) -> Shapes:
    """floor(x / y), elementwise with broadcasting; as Python's `//`. Its derivative is 0
    everywhere.
    """
    return [broadcast(x.shape, y.shape)]


@op("TruncateDiv", outputs="z: T", T=dtypes.INTEGER, pointwise=True)
def truncatediv(x: T, y: T) -> Shapes:
    """x / y of integers cut towards 0, elementwise with broadcasting; as C's `/`."""
    return [broadcast(x.shape, y.shape)]


@op("FloorMod", outputs="z: T", T=dtypes.REAL, pointwise=True)
def floormod(x: T, y: T) -> Shapes:
    """x - y * floor(x / y), elementwise with broadcasting; as Python's `%`: y's sign."""
    return [broadcast(x.shape, y.shape)]


@op("TruncateMod", outputs="z: T", T=dtypes.REAL, pointwise=True)
def truncatemod(x: T, y: T) -> Shapes:
    """The remainder of truncated division, elementwise with broadcasting; as C's `%`: x's sign."""
    return [broadcast(x.shape, y.shape)]


@floormod.gradient
def _(op: Operation, grad: Output) -> Grads:
    return _operands(op, grad, -grad * floordiv(*op.inputs))


@truncatemod.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _operands(op, grad, (op.outputs[0] - x) / y * grad)


@floordiv.gradient
@truncatediv.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None, None]


@op("DivNoNan", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def div_no_nan(x: T, y: T) -> Shapes:
    """x / y, elementwise with broadcasting, and 0 where y is 0."""
    return [broadcast(x.shape, y.shape)]


@div_no_nan.gradient
def _(op: Operation, grad: Output) -> Grads:
    y = op.inputs[1]
    return _operands(op, div_no_nan(grad, y), grad * div_no_nan(-op.outputs[0], y))


@op("Xdivy", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def xdivy(x: T, y: T) -> Shapes:
    """x / y, elementwise with broadcasting, and 0 where x is 0, whatever y is."""
    return [broadcast(x.shape, y.shape)]


@xdivy.gradient
def _(op: Operation, grad: Output) -> Grads:
    y = op.inputs[1]
    return _operands(op, xdivy(grad, y), mul_no_nan(-xdivy(op.outputs[0], y), grad))


@op("MulNoNan", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def mul_no_nan(x: T, y: T) -> Shapes:
    """x * y, elementwise with broadcasting, and 0 where y is 0, even if x is infinite or NaN."""
    return [broadcast(x.shape, y.shape)]


@mul_no_nan.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _operands(op, grad * y, mul_no_nan(x, grad))


@op("Pow", outputs="z: T", T=dtypes.FLOATING | dtypes.INDEX, pointwise=True)
def pow(x: T, y: T) -> Shapes:
    """x to the power y, elementwise with broadcasting.

    A negative integer exponent is an invalid-argument error. The derivative with respect to x is 0
    where y is 0, also at x = 0; that with respect to y is taken to be 0 where x <= 0.
    """
    return [broadcast(x.shape, y.shape)]


@pow.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    if x.dtype not in dtypes.FLOATING:
        return [None, None]
    for_x = mul_no_nan(y * pow(x, _exponent_less_1(x, y)), grad)
    ones = shaping.ones_like(x)
    log_x = elementwise.log(comparison.select(x > 0, x, ones))
    return _operands(op, for_x, mul_no_nan(op.outputs[0] * log_x, grad))


def _exponent_less_1(x: Output, y: Output) -> Any:
    """y - 1, but 0 where x and y are 0: there x^y is 1 for all x, and 0 * x^-1 would be NaN."""
    known = In(y).value
    if known is not None and known.all():
        return y - 1
    both_zero = comparison.logical_and(comparison.equal(x, 0), comparison.equal(y, 0))
    return y - 1 + casting.cast(both_zero, y.dtype)


@op("Maximum", outputs="z: T", T=dtypes.REAL, pointwise=True)
def maximum(x: T, y: T) -> Shapes:
    """The larger of x and y, elementwise with broadcasting; NaN if either is NaN.

    Where both are equal the whole gradient goes to x.
    """
    return [broadcast(x.shape, y.shape)]


@op("Minimum", outputs="z: T", T=dtypes.REAL, pointwise=True)
def minimum(x: T, y: T) -> Shapes:
    """The smaller of x and y, elementwise with broadcasting; NaN if either is NaN.

    Where both are equal the whole gradient goes to x.
    """
    return [broadcast(x.shape, y.shape)]


@maximum.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _to_winner(op, grad, x >= y)


@minimum.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _to_winner(op, grad, x <= y)


def _to_winner(op: Operation, grad: Output, x_wins: Output) -> Grads:
    zeros = shaping.zeros_like(grad)
    return _operands(
        op, comparison.select(x_wins, grad, zeros), comparison.select(x_wins, zeros, grad)
    )


@op("SquaredDifference", outputs="z: T", T=dtypes.REAL, pointwise=True)
def squared_difference(x: T, y: T) -> Shapes:
    """(x - y)^2, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@squared_difference.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    for_x = grad * 2 * (x - y)
    return _operands(op, for_x, -for_x)


@op("Atan2", outputs="z: T", T=dtypes.FLOATING, pointwise=True)
def atan2(y: T, x: T) -> Shapes:
    """The angle in [-pi, pi] of the point (x, y), elementwise with broadcasting."""
    return [broadcast(y.shape, x.shape)]


@atan2.gradient
def _(op: Operation, grad: Output) -> Grads:
    y, x = op.inputs
    by_square = xdivy(grad, elementwise.square(x) + elementwise.square(y))
    return _operands(op, x * by_square, -y * by_square)


@op("AddN", outputs="sum: T", T=dtypes.REAL, pointwise=True)
def add_n(inputs: Annotated[list[In], "N * T"]) -> Shapes:
    """The sum of one or more tensors of one shape.

    Raises:
        ShapeError: the shapes differ (nothing is broadcast).
    """
    shape = TensorShape(None)
    for x in inputs:
        shape = merge(shape, x.shape)
    return [shape]


@add_n.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad] * len(op.inputs)


def _folded(function: Callable[[Any, Any], Any]) -> Callable[[In, In], Any]:
    """The static value of an op on sizes, as in `shape[0] * shape[1]`."""

    def static_value(x: In, y: In) -> Any:
        if x.dtype not in dtypes.INDEX or x.shape.rank != 0 or y.shape.rank != 0:
            return None
        a, b = x.value, y.value
        return None if a is None or b is None else np.asarray(function(a, b), x.dtype.as_numpy)

    return static_value


for _builder, _function in (
    (add, np.add),
    (subtract, np.subtract),
    (multiply, np.multiply),
    (maximum, np.maximum),
    (minimum, np.minimum),
):
    _builder.static_value(_folded(_function))


def accumulate_n(inputs: Sequence[Any], name: str | None = None) -> Output:
    """The sum of one or more tensors of one shape; the same as `add_n`."""
    return add_n(inputs, name=name)


def div(x: Any, y: Any, name: str | None = None) -> Output:
    """x / y by Python 2's rules: true division of floats, floor division of integers."""
    with name_scope(name, "div", [x, y]):
        x, y = _same_dtype(x, y)
        return realdiv(x, y) if x.dtype in dtypes.FLOATING else floordiv(x, y)


def truediv(x: Any, y: Any, name: str | None = None) -> Output:
    """x / y by Python 3's rules: integers of up to 16 bits become float32, others float64."""
    with name_scope(name, "truediv", [x, y]):
        x, y = _same_dtype(x, y)
        if x.dtype in dtypes.FLOATING:
            return realdiv(x, y)
        dtype = dtypes.float32 if x.dtype.size <= 2 else dtypes.float64
        return realdiv(casting.cast(x, dtype), casting.cast(y, dtype))


def _same_dtype(x: Any, y: Any) -> tuple[Output, Output]:
    """Both as Outputs; a Python value takes the other's dtype."""
    if isinstance(y, Output) and not isinstance(x, Output):
        return convert_to_tensor(x, dtype=y.dtype), y
    x = convert_to_tensor(x)
    return x, convert_to_tensor(y, dtype=x.dtype)


divide = truediv
mod = floormod


def scalar_mul(scalar: Any, x: Output, name: str | None = None) -> Output:
    """scalar * x for a scalar of any kind."""
    return multiply(scalar, x, name=name)
