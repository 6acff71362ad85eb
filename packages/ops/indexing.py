"""Elements picked by index, scattered by index, and ranked.

An index out of range is an invalid-argument error of the step that names position, value and bound;
only `one_hot` gives a row without a hit, and negative segment ids are dropped.
"""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import (
    arithmetic,
    arranging,
    casting,
    comparison,
    joining,
    reductions,
    sequences,
    shaping,
)
from qanat.ops.shape_functions import (
    as_int,
    dims_of_rank,
    dims_of_vector,
    ints,
    require_scalar,
    resolve_axis,
    scalar_int,
    sizes,
    unknown_of_rank,
)

__all__ = [
    "boolean_mask",
    "gather",
    "gather_nd",
    "in_top_k",
    "one_hot",
    "scatter_nd",
    "top_k",
    "unsorted_segment_sum",
]

T = Annotated[In, "T"]
Tindices = Annotated[In, "Tindices"]


@op(
    "GatherV2",
    outputs="output: Tparams",
    Tparams=dtypes.ALL,
    Tindices=dtypes.INDEX,
    Taxis=dtypes.INDEX,
)
def gather_v2(
    params: Annotated[In, "Tparams"],
    indices: Tindices,
    axis: Annotated[In, "Taxis"],
    *,
    batch_dims: int = 0,
) -> Shapes:
    """Slices of `params` along `axis` at `indices`; see `gather`. batch_dims must be 0."""
    if batch_dims:
        raise ShapeError(f"expected batch_dims 0, got {batch_dims}")
    dims, at = params.shape.dims, scalar_int(axis, "axis")
    if dims == ():
        raise ShapeError("expected params of rank 1 or more, got a scalar")
    if dims is None or indices.shape.dims is None:
        return [TensorShape(None)]
    if at is None:
        return [unknown_of_rank(len(dims) - 1 + len(indices.shape.dims))]
    at = resolve_axis(at, len(dims))
    if indices.value is not None and dims[at] is not None:
        _require_in_range(indices, dims[at])
    return [TensorShape([*dims[:at], *indices.shape.dims, *dims[at + 1 :]])]


def _require_in_range(indices: In, bound: int | None) -> None:
    assert indices.value is not None and bound is not None
    for position, index in enumerate(indices.value.reshape(-1)):
        if not 0 <= index < bound:
            raise ShapeError(
                f"expected indices in [0, {bound}), got {index} at position {position}"
            )


@gather_v2.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Sums rows of the gradient into a dense tensor; along another axis than 0 by way of a
    transpose.
    """
    params, indices, axis = op.inputs
    known = ints(In(axis))
    rows = shaping.reshape(indices, [-1])
    if known == [0]:
        return [_rows_to_params(grad, rows, params), None, None]
    if known is None or params.shape.dims is None or indices.shape.dims is None:
        raise NotImplementedError(
            "[GatherV2] expected a constant axis and inputs of known rank to differentiate"
        )
    at, rank, width = (
        known[0] % len(params.shape.dims),
        len(params.shape.dims),
        len(indices.shape.dims),
    )
    taken = list(_span(at, width))
    front = [*taken, *(i for i in _span(0, rank - 1 + width) if i not in taken)]
    moved = [at, *(i for i in _span(0, rank) if i != at)]
    target = arranging.transpose(params, moved)
    summed = _rows_to_params(arranging.transpose(grad, front), rows, target)
    back = [moved.index(i) for i in _span(0, rank)]
    return [arranging.transpose(summed, back), None, None]


def _span(start: int, length: int) -> range:
    return range(start, start + length)


def _rows_to_params(grad: Output, rows: Output, params: Output) -> Output:
    """grad, [*indices.shape, *params.shape[1:]], summed by row into params' shape."""
    shape = shaping.shape_of(params)
    flat: Any
    if isinstance(shape, Output) or 0 in shape[1:]:
        flat = joining.concat([shaping.shape(rows), shape[1:]], 0)
    else:
        flat = [-1, *shape[1:]]
    values = shaping.reshape(grad, flat)
    return unsorted_segment_sum(values, rows, shape[0])


def gather(
    params: Any,
    indices: Any,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: int | Output = 0,
) -> Output:
    """Slices of `params` along `axis` at `indices`.

    Args:
        params: any dtype, rank 1 or more.
        indices: int32 or int64 of any shape, each in [0, params.shape[axis]).
        validate_indices: has no effect; indices are always validated.
        axis: in [-rank, rank).

    Returns:
        params' dtype, shape params.shape[:axis] + indices.shape + params.shape[axis + 1:].

    Raises:
        ShapeError: axis or a constant index is out of range; other indices fail the step.
    """
    return gather_v2(params, indices, axis, name=name)


@op(
    "UnsortedSegmentSum",
    outputs="output: T",
    T=dtypes.REAL,
    Tindices=dtypes.INDEX,
    Tnumsegments=(dtypes.INDEX, dtypes.int32),
)
def unsorted_segment_sum(
    data: T, segment_ids: Tindices, num_segments: Annotated[In, "Tnumsegments"]
) -> Shapes:
    """output[s] = the sum of the data[i] with segment_ids[i] == s; 0 where there are none.

    Args:
        data: numbers, shape segment_ids.shape + rest.
        segment_ids: int32 or int64, below num_segments; slices with negative ids are dropped.
        num_segments: a scalar.

    Returns:
        [num_segments] + rest. The order of additions is fixed.

    Raises:
        ShapeError: data's shape does not begin with segment_ids' shape.
    """
    segments = scalar_int(num_segments, "num_segments")
    if segments is not None and segments < 0:
        raise ShapeError(f"expected num_segments of 0 or more, got {segments}")
    ids, dims = segment_ids.shape.dims, data.shape.dims
    if ids is None or dims is None:
        return [TensorShape(None)]
    if len(ids) > len(dims):
        raise ShapeError(
            f"expected data that begins with segment_ids' shape {segment_ids.shape}, "
            f"got {data.shape}"
        )
    merge(TensorShape(ids), TensorShape(dims[: len(ids)]))
    return [TensorShape([segments, *dims[len(ids) :]])]


@unsorted_segment_sum.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Gathers; what was dropped finds a row of zeros behind the last one."""
    ids, rank = op.inputs[1], grad.shape.rank
    if rank is None:
        raise NotImplementedError("[UnsortedSegmentSum] expected known ranks to differentiate")
    extended = arranging.pad_op(grad, [[0, 1], *[[0, 0]] * (rank - 1)])
    behind = shaping.zeros_like(ids) + casting.cast(shaping.shape(grad)[0], ids.dtype)
    rows = comparison.select(comparison.less(ids, shaping.zeros_like(ids)), behind, ids)
    return [gather(extended, rows), None, None]


@op("OneHot", outputs="output: T", T=dtypes.ALL, TI={dtypes.uint8, dtypes.int32, dtypes.int64})
def one_hot_op(
    indices: Annotated[In, "TI"],
    depth: Annotated[In, "int32"],
    on_value: T,
    off_value: T,
    *,
    axis: int = -1,
) -> Shapes:
    """on_value where the coordinate along the new `axis` equals the index, else off_value; see
    `one_hot`.
    """
    for x, name in ((on_value, "on_value"), (off_value, "off_value")):
        require_scalar(x, name)
    size, dims = scalar_int(depth, "depth"), indices.shape.dims
    if size is not None and size < 0:
        raise ShapeError(f"expected a depth of 0 or more, got {size}")
    if dims is None:
        return [TensorShape(None)]
    at = len(dims) if axis == -1 else resolve_axis(axis, len(dims) + 1)
    return [TensorShape([*dims[:at], size, *dims[at:]])]


@one_hot_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    indices, depth, on, off = op.inputs
    hit = one_hot_op(indices, depth, True, False, axis=op.get_attr("axis"))
    zeros = shaping.zeros_like(grad)
    for_on = reductions.reduce_sum(comparison.select(hit, grad, zeros))
    for_off = reductions.reduce_sum(comparison.select(hit, zeros, grad))
    return [None, None, for_on, for_off]


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: DType | None = None,
    name: str | None = None,
) -> Output:
    """A tensor with a new axis of size `depth`: on_value at each index, off_value elsewhere.

    Args:
        indices: uint8, int32 or int64 of any shape; those outside [0, depth) give off_value
            throughout.
        depth: a scalar int32.
        on_value, off_value: scalars, 1 and 0 if not given.
        axis: where the new axis goes; last if not given.
        dtype: of the result: that of on_value or off_value if given, else float32.

    Raises:
        ShapeError: depth is negative or axis is out of range.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value]) as scope:
        given = [x for x in (on_value, off_value) if x is not None]
        if dtype is None:
            dtype = convert_to_tensor(given[0]).dtype if given else dtypes.float32
        on, off = (
            convert_to_tensor(default if x is None else x, dtype=dtype)
            for x, default in ((on_value, 1), (off_value, 0))
        )
        return one_hot_op(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


@op("GatherNd", outputs="output: Tparams", Tparams=dtypes.ALL, Tindices=dtypes.INDEX)
def gather_nd(params: Annotated[In, "Tparams"], indices: Tindices) -> Shapes:
    """Elements or slices of `params` at coordinates.

    Args:
        params: any shape and dtype.
        indices: int32 or int64 of shape [..., k], k <= the rank of params; each row has the first k
            coordinates.

    Returns:
        params' dtype, shape indices.shape[:-1] + params.shape[k:].

    Raises:
        ShapeError: k exceeds the rank; coordinates out of range fail the step.
    """
    dims, at = params.shape.dims, indices.shape.dims
    if at == ():
        raise ShapeError("expected indices of rank 1 or more, got a scalar")
    if dims is None or at is None or at[-1] is None:
        return [TensorShape(None)]
    if at[-1] > len(dims):
        raise ShapeError(
            f"expected at most {len(dims)} coordinates a row for params of shape "
            f"{params.shape}, got {at[-1]}"
        )
    return [TensorShape([*at[:-1], *dims[at[-1] :]])]


@gather_nd.gradient
def _(op: Operation, grad: Output) -> Grads:
    params, indices = op.inputs
    shape = casting.cast(shaping.shape_of(params), indices.dtype)
    return [scatter_nd(indices, grad, shape), None]


@op("ScatterNd", outputs="output: T", T=dtypes.REAL, Tindices=dtypes.INDEX)
def scatter_nd(indices: Tindices, updates: T, shape: Tindices) -> Shapes:
    """Zeros of `shape` with `updates` added at coordinates: the inverse of `gather_nd`.

    Args:
        indices: int32 or int64 of shape [..., k].
        updates: numbers of shape indices.shape[:-1] + shape[k:]; those at equal coordinates add up,
            in order.
        shape: a vector of the dtype of indices.

    Raises:
        ShapeError: the shapes do not go together; coordinates out of range fail the step.
    """
    target, at = sizes(shape, "shape"), indices.shape.dims
    if at == ():
        raise ShapeError("expected indices of rank 1 or more, got a scalar")
    if target.dims is None or at is None or at[-1] is None:
        return [target]
    if at[-1] > len(target.dims):
        raise ShapeError(
            f"expected at most {len(target.dims)} coordinates a row for shape {target}, "
            f"got {at[-1]}"
        )
    merge(updates.shape, TensorShape([*at[:-1], *target.dims[at[-1] :]]))
    return [target]


@scatter_nd.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None, gather_nd(grad, op.inputs[0]), None]


@op("Where", outputs="index: int64", T=dtypes.NUMERIC | {dtypes.bool_}, differentiable=False)
def where_op(input: T) -> Shapes:
    """The coordinates of the elements that are not 0 (true), one row each, in row-major order."""
    dims = input.shape.dims
    return [TensorShape([None, None if dims is None else len(dims)])]


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: int = 0) -> Output:
    """The slices of `tensor` for which `mask` is true, in order.

    Args:
        tensor: any dtype, rank at least that of mask.
        mask: bools of known rank, 1 or more, that agrees with tensor's dimensions from `axis` on.
        axis: the first masked dimension.

    Returns:
        shape tensor.shape[:axis] + [number of trues] + tensor.shape[axis + mask rank:].

    Raises:
        ShapeError: mask's rank is unknown or 0, or the shapes do not agree.
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        tensor, mask = convert_to_tensor(tensor), convert_to_tensor(mask)
        if not mask.shape.dims or tensor.shape.dims is None:
            raise ShapeError("[boolean_mask] expected a mask of known rank 1 or more")
        width, dims, axis = len(mask.shape.dims), tensor.shape.dims, as_int(axis, "axis")
        merge(TensorShape(dims[axis : axis + width]), mask.shape)
        shape = shaping.shape(tensor)
        flat = joining.concat([shape[:axis], [-1], shape[axis + width :]], 0)
        rows = shaping.reshape(tensor, flat)
        chosen = shaping.squeeze(where_op(shaping.reshape(mask, [-1])), axis=[1])
        return gather(rows, chosen, axis=axis)


@op("TopKV2", outputs="values: T, indices: int32", T=dtypes.REAL)
def top_k_v2(input: T, k: Annotated[In, "int32"], *, sorted: bool = True) -> Shapes:
    """The k largest elements along the last axis and where they stand; see `top_k`."""
    count, dims = scalar_int(k, "k"), input.shape.dims
    if count is not None and count < 0:
        raise ShapeError(f"expected k of 0 or more, got {count}")
    if dims is None:
        return [TensorShape(None), TensorShape(None)]
    if not dims:
        raise ShapeError("expected an input of rank 1 or more, got a scalar")
    if count is not None and dims[-1] is not None and count > dims[-1]:
        raise ShapeError(f"expected k of at most {dims[-1]}, got {count}")
    shape = TensorShape([*dims[:-1], count])
    return [shape, shape]


@top_k_v2.gradient
def _(op: Operation, grad: Output | None, _: Output | None) -> Grads:
    if grad is None:
        return [None, None]
    x, indices = op.inputs[0], op.outputs[1]
    shape = shaping.shape(x)
    width, k = shape[-1], shaping.shape(indices)[-1]
    rows = shaping.size(indices) // arithmetic.maximum(k, 1)
    starts = shaping.expand_dims(sequences.range(rows) * width, 1)
    flat = shaping.reshape(shaping.reshape(indices, joining.stack([rows, k])) + starts, [-1])
    summed = unsorted_segment_sum(shaping.reshape(grad, [-1]), flat, shaping.size(x))
    return [shaping.reshape_like(summed, x), None]


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> list[Output]:
    """The k largest elements along the last axis, and where they stand.

    Args:
        input: numbers, rank 1 or more.
        k: a scalar int32, at most the last dimension.
        sorted: largest first; the result is in that order either way. NaN counts as the largest,
            and of equals the one with the lower index comes first.

    Returns:
        values and int32 indices, each of shape input.shape[:-1] + [k].

    Raises:
        ShapeError: k is negative or too large.
    """
    return top_k_v2(input, k, sorted=sorted, name=name)


@op("InTopKV2", outputs="precision: bool", T=dtypes.INDEX, differentiable=False)
def in_top_k_v2(predictions: Annotated[In, "float32"], targets: T, k: T) -> Shapes:
    """Whether each row's target is among the k largest predictions; see `in_top_k`."""
    scalar_int(k, "k")
    rows = dims_of_rank(predictions, "predictions", 2)[0]
    return [merge(TensorShape([rows]), TensorShape([dims_of_vector(targets, "targets")]))]


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Output:
    """Whether each row's target is among the k largest predictions, a bool a row.

    Args:
        predictions: float32 [batch, classes].
        targets: int32 or int64 [batch]. Predictions equal to the target's all count as within the
            top k if it does. False where the target is out of range or its prediction is not
            finite.
        k: a scalar.

    Raises:
        ShapeError: the numbers of rows differ.
    """
    targets = convert_to_tensor(targets)
    return in_top_k_v2(predictions, targets, convert_to_tensor(k, dtype=targets.dtype), name=name)
