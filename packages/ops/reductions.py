"""Reductions over axes, and the positions of extremes.

An empty axis list reduces nothing; no axis given reduces all. Over an empty axis the result is the
neutral element: 0, 1, True or False, -inf for max and inf for min (integers: their limits), NaN for
mean. NaN propagates, and counts as the largest and as the smallest element.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.constants import to_array
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, OpBuilder, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops import arithmetic, broadcasting, casting, comparison, elementwise, indexing, shaping
from qanat.ops.shape_functions import ints, known_product, resolve_axis, scalar_int, unknown_of_rank

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "reduce_all",
    "reduce_any",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
]

T = Annotated[In, "T"]
Tidx = Annotated[In, "Tidx"]
Axis = int | Sequence[int] | Output | np.ndarray[Any, Any] | None
AXIS_TYPES = (dtypes.INDEX, dtypes.int32)


def _reduced(x: In, axes: In, keep_dims: bool) -> Shapes:
    """The shape function of all reductions."""
    dims, reduced = x.shape.dims, ints(axes)
    if axes.shape.dims is not None and len(axes.shape.dims) > 1:
        raise ShapeError(f"expected axes as a scalar or a vector, got shape {axes.shape}")
    if dims is None:
        return [TensorShape(None)]
    if reduced is None:
        return [unknown_of_rank(len(dims)) if keep_dims else TensorShape(None)]
    gone = {resolve_axis(axis, len(dims)) for axis in reduced}
    if keep_dims:
        return [TensorShape([1 if i in gone else dim for i, dim in enumerate(dims)])]
    return [TensorShape([dim for i, dim in enumerate(dims) if i not in gone])]


@op("Sum", outputs="output: T", T=dtypes.REAL, Tidx=AXIS_TYPES)
def sum(input: T, reduction_indices: Tidx, *, keep_dims: bool = False) -> Shapes:
    """The sum over the axes `reduction_indices`; see `reduce_sum`."""
    return _reduced(input, reduction_indices, keep_dims)


@sum.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [_spread(op, grad), None]


def _spread(op: Operation, reduced: Output) -> Output:
    """`reduced`, of the shape of the reduction `op`'s output, repeated to its input's shape."""
    x = op.inputs[0]
    return broadcasting.broadcast_to(_kept(op, reduced), shaping.shape_of(x))


def _kept(op: Operation, reduced: Output) -> Output:
    """`reduced` with a 1 where the reduction `op` has removed a dimension."""
    if op.get_attr("keep_dims"):
        return reduced
    x, axes = op.inputs
    known = ints(In(axes))
    if known is not None and x.shape.dims is not None:
        gone = {axis % len(x.shape.dims) for axis in known}
        kept = [1 if i in gone else dim for i, dim in enumerate(x.shape.dims)]
        if kept.count(None) <= 1:
            return shaping.reshape(reduced, [-1 if dim is None else dim for dim in kept])
    return shaping.reshape(reduced, _kept_shape(x, axes))


def _kept_shape(x: Output, axes: Output) -> Output:
    """x's shape with 1 at `axes`, computed in the step."""
    axes = shaping.reshape(casting.cast(axes, dtypes.int32), [-1])
    size = shaping.rank(x)
    hits = indexing.one_hot(arithmetic.floormod(axes, size), size, True, False)
    is_reduced = reduce_any(hits, 0)
    shape = shaping.shape(x)
    return comparison.select(is_reduced, shaping.ones_like_op(shape), shape)


@op("Mean", outputs="output: T", T=dtypes.REAL, Tidx=AXIS_TYPES)
def mean(input: T, reduction_indices: Tidx, *, keep_dims: bool = False) -> Shapes:
    """The mean over the axes `reduction_indices`; see `reduce_mean`."""
    return _reduced(input, reduction_indices, keep_dims)


@mean.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [_spread(op, grad / _count(op, grad.dtype)), None]


def _count(op: Operation, dtype: DType) -> Any:
    """How many elements of the reduction `op`'s input went into each of its output, at least 1."""
    x, axes = op.inputs
    known, dims = ints(In(axes)), x.shape.dims
    if known is not None and dims is not None:
        count = known_product([dims[axis] for axis in {axis % len(dims) for axis in known}])
        if count is not None:
            return float(max(count, 1))
    outputs = arithmetic.maximum(shaping.size(op.outputs[0]), 1)
    return casting.cast(arithmetic.maximum(shaping.size(x) // outputs, 1), dtype)


@op("Max", outputs="output: T", T=dtypes.REAL, Tidx=AXIS_TYPES)
def max_op(input: T, reduction_indices: Tidx, *, keep_dims: bool = False) -> Shapes:
    """The largest element over the axes `reduction_indices`; see `reduce_max`."""
    return _reduced(input, reduction_indices, keep_dims)


@op("Min", outputs="output: T", T=dtypes.REAL, Tidx=AXIS_TYPES)
def min_op(input: T, reduction_indices: Tidx, *, keep_dims: bool = False) -> Shapes:
    """The smallest element over the axes `reduction_indices`; see `reduce_min`."""
    return _reduced(input, reduction_indices, keep_dims)


@max_op.gradient
@min_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Ties share the gradient evenly."""
    x, axes = op.inputs
    hits = casting.cast(comparison.equal(x, _kept(op, op.outputs[0])), grad.dtype)
    ties = sum(hits, axes, keep_dims=True)
    return [hits * (_kept(op, grad) / ties), None]


@op("Prod", outputs="output: T", T=dtypes.REAL, Tidx=AXIS_TYPES)
def prod(input: T, reduction_indices: Tidx, *, keep_dims: bool = False) -> Shapes:
    """The product over the axes `reduction_indices`; see `reduce_prod`."""
    return _reduced(input, reduction_indices, keep_dims)


@prod.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Each element's factor is the product of the others, which is right beside zeros, too.

    The second derivative treats an element that is exactly 0 as a constant.
    """
    x, axes = op.inputs
    is_zero = comparison.equal(x, shaping.zeros_like(x))
    others = comparison.select(is_zero, shaping.ones_like(x), x)
    product = _repeated(prod(others, axes, keep_dims=True), x)
    zeros = _repeated(sum(casting.cast(is_zero, grad.dtype), axes, keep_dims=True), x)
    no_zero, only_zero = zeros < 0.5, (zeros < 1.5) & is_zero
    factor = comparison.select(no_zero | only_zero, product / others, shaping.zeros_like(x))
    return [_spread(op, grad) * factor, None]


def _repeated(kept: Output, x: Output) -> Output:
    """`kept`, reduced with kept dimensions, repeated to x's shape."""
    return broadcasting.broadcast_to(kept, shaping.shape_of(x))


@op("All", outputs="output: bool", Tidx=AXIS_TYPES, differentiable=False)
def all_op(
    input: Annotated[In, "bool"], reduction_indices: Tidx, *, keep_dims: bool = False
) -> Shapes:
    """Whether all elements over the axes `reduction_indices` are true; see `reduce_all`."""
    return _reduced(input, reduction_indices, keep_dims)


@op("Any", outputs="output: bool", Tidx=AXIS_TYPES, differentiable=False)
def any_op(
    input: Annotated[In, "bool"], reduction_indices: Tidx, *, keep_dims: bool = False
) -> Shapes:
    """Whether any element over the axes `reduction_indices` is true; see `reduce_any`."""
    return _reduced(input, reduction_indices, keep_dims)


def _without_axis(x: In, dimension: In, output_type: DType) -> Shapes:
    if output_type not in dtypes.INDEX:
        raise ShapeError(f"expected output_type int32 or int64, got {output_type.name}")
    axis, dims = scalar_int(dimension, "dimension"), x.shape.dims
    if dims is None:
        return [TensorShape(None)]
    if not dims:
        raise ShapeError("expected an input of rank 1 or more, got a scalar")
    if axis is None:
        return [unknown_of_rank(len(dims) - 1)]
    at = resolve_axis(axis, len(dims), "dimension")
    if dims[at] == 0:
        raise ShapeError(f"expected at least one element in dimension {at}, got shape {x.shape}")
    return [TensorShape([*dims[:at], *dims[at + 1 :]])]


@op("ArgMax", outputs="output: output_type", T=dtypes.REAL, Tidx=AXIS_TYPES, differentiable=False)
def argmax_op(input: T, dimension: Tidx, *, output_type: DType = dtypes.int64) -> Shapes:
    """The position of the largest element along `dimension`; see `argmax`."""
    return _without_axis(input, dimension, output_type)


@op("ArgMin", outputs="output: output_type", T=dtypes.REAL, Tidx=AXIS_TYPES, differentiable=False)
def argmin_op(input: T, dimension: Tidx, *, output_type: DType = dtypes.int64) -> Shapes:
    """The position of the smallest element along `dimension`; see `argmin`."""
    return _without_axis(input, dimension, output_type)


def argmax(
    input: Any,
    axis: int | Output | None = None,
    name: str | None = None,
    dimension: int | Output | None = None,
    output_type: DType = dtypes.int64,
) -> Output:
    """The position of the largest element along `axis`; the first of equals, and of NaNs.

    Args:
        input: numbers, rank 1 or more.
        axis: in [-rank, rank), 0 if not given; `dimension` is its older name.
        output_type: int32 or int64.

    Returns:
        output_type, of input's shape without that axis.

    Raises:
        ShapeError: axis is out of range or has no elements.
    """
    at = shaping.one_of("axis", axis, "dimension", dimension)
    return argmax_op(input, 0 if at is None else at, output_type=output_type, name=name)


def argmin(
    input: Any,
    axis: int | Output | None = None,
    name: str | None = None,
    dimension: int | Output | None = None,
    output_type: DType = dtypes.int64,
) -> Output:
    """The position of the smallest element along `axis`; the first of equals, and of NaNs.

    Arguments, result and errors are those of `argmax`.
    """
    at = shaping.one_of("axis", axis, "dimension", dimension)
    return argmin_op(input, 0 if at is None else at, output_type=output_type, name=name)


def _reduce(
    builder: OpBuilder,
    x: Any,
    axis: Axis,
    keep: bool | None,
    name: str | None,
    old_axis: Axis,
    old_keep: bool | None,
) -> Output:
    """Calls a reduction op with what TensorFlow's many argument names amount to."""
    x = convert_to_tensor(x)
    axes = shaping.one_of("axis", axis, "reduction_indices", old_axis)
    if axes is None:
        axes = shaping.all_axes(x)
    elif isinstance(axes, np.ndarray | np.generic):
        axes = to_array(axes, dtypes.int32)
    return builder(x, axes, keep_dims=shaping.keeps_dims(keep, old_keep), name=name)


def reduce_sum(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """The sum over `axis`; 0 over no elements.

    Args:
        input_tensor: numbers of any shape.
        axis: an int, several, or an integer tensor, each in [-rank, rank); all axes if not given,
            none if empty. `reduction_indices` is its older name.
        keepdims: keep reduced dimensions, as 1. `keep_dims` is its older name.

    Returns:
        The dtype of input_tensor. The order of additions is fixed, so the result is repeatable.

    Raises:
        ShapeError: an axis is out of range.
        TypeError: an axis is no integer, or keepdims no bool.
    """
    return _reduce(sum, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_mean(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """The mean over `axis`; NaN over no elements. Of integers the quotient is cut towards 0, as in
    TensorFlow.

    Arguments and errors are those of `reduce_sum`.
    """
    return _reduce(mean, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_prod(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """The product over `axis`; 1 over no elements.

    Arguments and errors are those of `reduce_sum`. The second derivative treats an element that is
    exactly 0 as a constant.
    """
    return _reduce(prod, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_max(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """The largest element over `axis`; NaN if there is one; -inf or the dtype's least over no
    elements.

    Elements that share the maximum share the gradient evenly. Arguments and errors are those of
    `reduce_sum`.
    """
    return _reduce(max_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_min(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """The smallest element over `axis`; NaN if there is one; inf or the dtype's greatest over no
    elements.

    Elements that share the minimum share the gradient evenly. Arguments and errors are those of
    `reduce_sum`.
    """
    return _reduce(min_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_all(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """Whether all elements (bools) over `axis` are true; true over none. Arguments as in
    `reduce_sum`.
    """
    return _reduce(all_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_any(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """Whether any element (bools) over `axis` is true; false over none. Arguments as in
    `reduce_sum`.
    """
    return _reduce(any_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_logsumexp(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """log(sum(exp(x))) over `axis`, without overflow; -inf over no elements.

    Arguments and errors are those of `reduce_sum`.
    """
    axis = shaping.one_of("axis", axis, "reduction_indices", reduction_indices)
    keep = shaping.keeps_dims(keepdims, keep_dims)
    with name_scope(name, "ReduceLogSumExp", [input_tensor]):
        x = convert_to_tensor(input_tensor)
        largest = shaping.stop_gradient(reduce_max(x, axis, keepdims=True))
        finite = elementwise.is_finite(largest)
        base = comparison.select(finite, largest, shaping.zeros_like(largest))
        total = elementwise.log(reduce_sum(elementwise.exp(x - base), axis, keepdims=True)) + base
        return total if keep else reduce_sum(total, axis)


def count_nonzero(
    input_tensor: Any,
    axis: Axis = None,
    keepdims: bool | None = None,
    dtype: DType = dtypes.int64,
    name: str | None = None,
    reduction_indices: Axis = None,
    keep_dims: bool | None = None,
) -> Output:
    """How many elements over `axis` differ from 0, as `dtype`; arguments as in `reduce_sum`."""
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = convert_to_tensor(input_tensor)
        differs = comparison.not_equal(x, shaping.zeros_like(x))
        return _reduce(
            sum, casting.cast(differs, dtype), axis, keepdims, None, reduction_indices, keep_dims
        )
