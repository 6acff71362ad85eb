"""Comparisons, logic, and the choice between two tensors.

Every comparison with NaN is false, but `not_equal`, which is true.
"""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, broadcast, merge
from qanat.ops import arithmetic, indexing, shaping
from qanat.ops.shape_functions import same_dim

__all__ = [
    "clip_by_value",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "where",
]

T = Annotated[In, "T"]
Bool = Annotated[In, "bool"]


@op("Equal", outputs="z: bool", T=dtypes.ALL, differentiable=False)
def equal(x: T, y: T) -> Shapes:
    """x == y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("NotEqual", outputs="z: bool", T=dtypes.ALL, differentiable=False)
def not_equal(x: T, y: T) -> Shapes:
    """x != y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("Less", outputs="z: bool", T=dtypes.REAL, differentiable=False)
def less(x: T, y: T) -> Shapes:
    """x < y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("LessEqual", outputs="z: bool", T=dtypes.REAL, differentiable=False)
def less_equal(x: T, y: T) -> Shapes:
    """x <= y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("Greater", outputs="z: bool", T=dtypes.REAL, differentiable=False)
def greater(x: T, y: T) -> Shapes:
    """x > y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("GreaterEqual", outputs="z: bool", T=dtypes.REAL, differentiable=False)
def greater_equal(x: T, y: T) -> Shapes:
    """x >= y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("LogicalAnd", outputs="z: bool", differentiable=False)
def logical_and(x: Bool, y: Bool) -> Shapes:
    """x and y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("LogicalOr", outputs="z: bool", differentiable=False)
def logical_or(x: Bool, y: Bool) -> Shapes:
    """x or y, elementwise with broadcasting."""
    return [broadcast(x.shape, y.shape)]


@op("LogicalNot", outputs="y: bool", differentiable=False)
def logical_not(x: Bool) -> Shapes:
    """not x, elementwise."""
    return [x.shape]


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Output:
    """Whether exactly one of x and y is true, elementwise with broadcasting."""
    return not_equal(
        convert_to_tensor(x, dtype=dtypes.bool_),
        convert_to_tensor(y, dtype=dtypes.bool_),
        name=name,
    )


@op("Select", outputs="output: T", T=dtypes.ALL)
def select(condition: Bool, t: T, e: T) -> Shapes:
    """Where `condition` holds the element of t, else that of e; t and e have one shape.

    `condition` has their shape too, or is a scalar, or a vector that chooses whole rows.

    Raises:
        ShapeError: the shapes are none of these.
    """
    shape = merge(t.shape, e.shape)
    dims = condition.shape.dims
    if dims is None or dims == ():
        return [shape]
    if len(dims) == 1 and shape.dims is None:
        return [shape]
    if len(dims) == 1 and shape.dims:
        rows = same_dim(dims[0], shape.dims[0], "condition's length and the number of rows")
        return [TensorShape((rows, *shape.dims[1:]))]
    if shape.dims is not None and len(dims) != len(shape.dims):
        raise ShapeError(
            f"expected condition of shape {shape}, a vector or a scalar, "
            f"got shape {condition.shape}"
        )
    return [merge(condition.shape, shape)]


@select.gradient
def _(op: Operation, grad: Output) -> Grads:
    condition = op.inputs[0]
    zeros = shaping.zeros_like(grad)
    return [None, select(condition, grad, zeros), select(condition, zeros, grad)]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Output:
    """A choice between x and y, or the coordinates of the true elements.

    With x and y: a tensor of their shape with x's element where `condition` holds and y's
    elsewhere. `condition` has the same shape, or is a scalar, or a vector as long as x has rows.
    The gradient for the side that was not chosen is exactly 0, and stays 0 through ops with
    unbounded derivatives: `where(x > 0, 1 / x, 0)` has the gradient 0 at 0.

    Without: an int64 matrix with one row of coordinates a true element, in row-major order.

    Raises:
        ValueError: only one of x and y is given.
        ShapeError: the shapes do not go together.
    """
    if x is None and y is None:
        return indexing.where_op(condition, name=name)
    if x is None or y is None:
        raise ValueError("[where] expected both x and y or neither, got only one")
    return select(condition, x, y, name=name)


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Output:
    """t with values below clip_value_min and above clip_value_max replaced by those.

    The limits broadcast to t's shape; NaN stays NaN. The gradient is 0 where t was replaced.
    """
    return arithmetic.maximum(arithmetic.minimum(t, clip_value_max), clip_value_min, name=name)
