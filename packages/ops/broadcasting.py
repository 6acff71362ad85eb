"""Broadcasting, and its gradient: the sum back to an operand's shape.

Shapes broadcast as in NumPy: aligned at the last dimension, a dimension of 1 is repeated.
"""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, broadcast
from qanat.ops import reductions, shaping
from qanat.ops.shape_functions import Dims, dims_of_vector, sizes

__all__ = ["broadcast_static_shape", "broadcast_to"]

T = Annotated[In, "T"]
Tidx = Annotated[In, "Tidx"]


@op("BroadcastTo", outputs="output: T", T=dtypes.ALL, Tidx=(dtypes.INDEX, dtypes.int32))
def broadcast_to(input: T, shape: Tidx) -> Shapes:
    """`input` repeated to `shape` (an int32 or int64 vector).

    Raises:
        ShapeError: input's shape does not broadcast to `shape`.
    """
    target = sizes(shape, "shape")
    if target.dims is not None and input.shape.dims is not None:
        _require_broadcast(input.shape.dims, target.dims)
    return [target]


def _require_broadcast(dims: Dims, target: Dims) -> None:
    fits = len(dims) <= len(target) and all(
        a is None or a == 1 or b is None or a == b
        for a, b in zip(reversed(dims), reversed(target), strict=False)
    )
    if not fits:
        raise ShapeError(
            f"expected a shape that {TensorShape(dims)} broadcasts to, got {TensorShape(target)}"
        )


@broadcast_to.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [sum_to_operand(grad, op.inputs[0], grad), None]


@op(
    "BroadcastGradientArgs",
    outputs="r0: T, r1: T",
    T=(dtypes.INDEX, dtypes.int32),
    differentiable=False,
)
def broadcast_gradient_args(s0: T, s1: T) -> Shapes:
    """The axes of broadcast(s0, s1) over which a gradient is summed to get back to s0, and to s1.

    They are those that a shape lacks or has as 1.

    Raises:
        ShapeError: the two shapes do not broadcast.
    """
    for shape, name in ((s0, "s0"), (s1, "s1")):
        dims_of_vector(shape, name)
    broadcast(s0.value_as_shape(), s1.value_as_shape())
    return [TensorShape([None]), TensorShape([None])]


def sum_to_operand(grad: Output, x: Output, y: Output) -> Output:
    """The gradient for x, given that of an op whose result has the shape broadcast(x, y).

    Which axes to sum is decided while the graph is built wherever the static shapes tell, and
    in the step only where they do not.
    """
    if x is y or (x.shape.is_fully_defined() and x.shape == y.shape):
        return grad
    axes = _static_axes(x.shape.dims, y.shape.dims)
    if axes == []:
        return grad
    if axes is None:
        summed = broadcast_gradient_args(shaping.shape(x), shaping.shape(y))[0]
        return shaping.reshape_like(reductions.sum(grad, summed), x)
    assert y.shape.dims is not None and x.shape.dims is not None
    leading = max(len(y.shape.dims) - len(x.shape.dims), 0)
    if axes == list(range(leading)):
        return reductions.reduce_sum(grad, axes)
    if leading == 0:
        return reductions.reduce_sum(grad, axes, keepdims=True)
    return shaping.reshape_like(reductions.reduce_sum(grad, axes), x)


def _static_axes(x: Dims | None, y: Dims | None) -> list[int] | None:
    """The axes of broadcast(x, y) that x was repeated along; None where that is unknown."""
    if x is None or y is None:
        return None
    rank = max(len(x), len(y))
    axes = list(range(rank - len(x)))
    padded = (1,) * (rank - len(y)) + y
    for axis, dim in enumerate(x, start=rank - len(x)):
        other = padded[axis]
        if dim == 1 and other != 1:
            axes.append(axis)  # harmless where `other` turns out to be 1
        elif dim is None and other != 1:
            return None
    return axes


def broadcast_static_shape(shape_x: TensorShape, shape_y: TensorShape) -> TensorShape:
    """The shape that shape_x and shape_y broadcast to.

    Raises:
        ShapeError: they do not broadcast.
    """
    return broadcast(shape_x, shape_y)
