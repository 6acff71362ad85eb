"""Regular sequences of numbers."""

from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.constants import to_array
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops import casting, shaping
from qanat.ops.shape_functions import require_scalar

__all__ = ["lin_space", "linspace", "range"]

Tidx = Annotated[In, "Tidx"]


@op(
    "Range",
    outputs="output: Tidx",
    Tidx=(dtypes.FLOATING | dtypes.INDEX, dtypes.int32),
)
def range_op(start: Tidx, limit: Tidx, delta: Tidx) -> Shapes:
    """start, start + delta, start + 2 * delta, ... up to and without limit; see `range`."""
    for x, name in ((start, "start"), (limit, "limit"), (delta, "delta")):
        require_scalar(x, name)
    if start.value is None or limit.value is None or delta.value is None:
        return [TensorShape([None])]
    return [TensorShape([_length(start.value[()], limit.value[()], delta.value[()])])]


def _length(start: Any, limit: Any, delta: Any) -> int:
    if delta == 0:
        raise ShapeError("expected a delta other than 0, got 0")
    if not all(np.isfinite(float(x)) for x in (start, limit, delta)):
        raise ShapeError(f"expected finite numbers, got {start}, {limit}, {delta}")
    if isinstance(start, np.integer):
        return max(0, -((int(start) - int(limit)) // int(delta)))
    return max(0, int(np.ceil((float(limit) - float(start)) / float(delta))))


@range_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None, None, None]


def range(
    start: Any,
    limit: Any = None,
    delta: Any = 1,
    dtype: DType | None = None,
    name: str = "range",
) -> Output:
    """start, start + delta, start + 2 * delta, ... up to and without limit, a vector.

    With one argument that is the limit, and start is 0. The dtype is `dtype`, or the widest of the
    arguments' own in the order int32, int64, float32, float64.

    Raises:
        ShapeError: delta is 0, or an argument is not a finite scalar.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        bounds = [_as_given(x) for x in (start, limit, delta)]
        if dtype is None:
            order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            dtype = max((dtypes.as_dtype(x.dtype) for x in bounds), key=order.index)
        return range_op(*(_converted(x, dtype) for x in bounds), name=scope)


def _as_given(bound: Any) -> Any:
    """A bound as an Output, or as an array of the dtype it would become a constant of."""
    return bound if isinstance(bound, Output) else to_array(bound)


def _converted(bound: Any, dtype: DType) -> Any:
    if isinstance(bound, Output):
        return casting.cast(bound, dtype)
    return bound.astype(dtype.as_numpy)


def lin_space(start: Any, stop: Any, num: int, name: str | None = None) -> Output:
    """`num` numbers evenly spaced from `start` to `stop`, both included.

    Args:
        start: a floating-point scalar, the first.
        stop: a scalar of the same dtype, the last.
        num: a positive int; 1 gives start alone.

    Raises:
        ShapeError: num is not positive.
        TypeError: num is no int.
    """
    if not isinstance(num, (int, np.integer)):
        raise TypeError(f"[linspace] expected a num known when the graph is built, got {num!r}")
    if num < 1:
        raise ShapeError(f"[linspace] expected a positive num, got {num}")
    with name_scope(name, "LinSpace", [start, stop]):
        start = convert_to_tensor(start)
        stop = convert_to_tensor(stop, dtype=start.dtype)
        if num == 1:
            return shaping.reshape(start, [1])
        ramp = np.arange(num, dtype=np.float64) / (num - 1)
        weights = convert_to_tensor(ramp.astype(start.dtype.as_numpy))
        return start * (1 - weights) + stop * weights


linspace = lin_space
