"""Tensors joined along a dimension, and split along one."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.constants import describe
from qanat.core.convert import register_tensor_conversion_function
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import casting, shaping
from qanat.ops.shape_functions import (
    Dims,
    add_dims,
    dims_of_vector,
    ints,
    resolve_axis,
    same_dim,
    scalar_int,
    unknown_of_rank,
)

__all__ = ["concat", "parallel_stack", "split", "stack", "unstack"]

T = Annotated[In, "T"]
SplitDim = Annotated[In, "int32"]


@op("ConcatV2", outputs="output: T", T=dtypes.ALL, Tidx=(dtypes.INDEX, dtypes.int32))
def concat_v2(values: Annotated[list[In], "N * T"], axis: Annotated[In, "Tidx"]) -> Shapes:
    """One or more tensors joined along `axis`; see `concat`."""
    at = scalar_int(axis, "axis")
    rank: int | None = None
    for x in values:
        if x.shape.dims == ():
            raise ShapeError("expected values of rank 1 or more, got a scalar")
        rank = same_dim(rank, x.shape.rank, "the ranks of values")
    if rank is None or at is None:
        return [unknown_of_rank(rank)]
    at = resolve_axis(at, rank)
    rest = TensorShape(None)
    for x in values:
        dims = x.shape.with_rank(rank).known_dims()
        rest = merge(rest, TensorShape([*dims[:at], *dims[at + 1 :]]))
    others = rest.known_dims()
    joined = add_dims(*(x.shape.with_rank(rank)[at] for x in values))
    return [TensorShape([*others[:at], joined, *others[at:]])]


@concat_v2.static_value
def _(values: list[In], axis: In) -> np.ndarray[Any, Any] | TensorShape | None:
    if any(x.shape.rank != 1 or x.dtype not in dtypes.INDEX for x in values):
        return None
    if all(x.value is not None for x in values):
        return np.concatenate([x.value for x in values if x.value is not None])
    if any(x.value is not None and x.value.size and x.value.min() < 0 for x in values):
        return None
    shape = TensorShape([])
    for x in values:
        shape = shape.concatenate(x.value_as_shape())
    return shape


@concat_v2.gradient
def _(op: Operation, grad: Output) -> Grads:
    *values, axis = op.inputs
    at = ints(In(axis))
    if len(values) == 1:
        return [grad, None]
    if at is not None and all(
        x.shape.dims is not None and x.shape[at[0]] is not None for x in values
    ):
        sizes: Any = np.array([x.shape[at[0]] for x in values], np.int32)
    else:
        sizes = stack([shaping.shape(x)[axis] for x in values])
    parts = split_v(grad, sizes, casting.cast(axis, dtypes.int32), num_split=len(values))
    return [*parts, None]


def concat(values: Any, axis: Any, name: str = "concat") -> Output:
    """Tensors joined along an existing dimension.

    Args:
        values: one or more tensors of one dtype whose shapes differ at most in `axis`.
        axis: an int in [-rank, rank), or a scalar tensor of it.

    Raises:
        ShapeError: the shapes do not agree, or axis is out of range.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    return concat_v2(list(values), axis, name=name)


@op("Pack", outputs="output: T", T=dtypes.ALL)
def pack(values: Annotated[list[In], "N * T"], *, axis: int = 0) -> Shapes:
    """One or more tensors of one shape, joined along a new dimension `axis`; see `stack`."""
    shape = TensorShape(None)
    for x in values:
        shape = merge(shape, x.shape)
    if shape.dims is None:
        return [shape]
    at = resolve_axis(axis, len(shape.dims) + 1)
    return [TensorShape([*shape.dims[:at], len(values), *shape.dims[at:]])]


@pack.static_value
def _(values: list[In], *, axis: int) -> np.ndarray[Any, Any] | TensorShape | None:
    if any(x.shape.rank != 0 or x.dtype not in dtypes.INDEX for x in values):
        return None
    sizes = [None if x.value is None else int(x.value) for x in values]
    if None not in sizes:
        return np.array(sizes, values[0].dtype.as_numpy)
    if any(size is not None and size < 0 for size in sizes):
        return None
    return TensorShape(sizes)


@pack.gradient
def _(op: Operation, grad: Output) -> Grads:
    return unpack(grad, num=len(op.inputs), axis=op.get_attr("axis"))


def stack(values: Any, axis: int = 0, name: str = "stack") -> Output:
    """Tensors of one shape and dtype joined along a new dimension.

    Args:
        values: one or more tensors.
        axis: where the new dimension stands in the result, in [-rank - 1, rank].

    Raises:
        ShapeError: the shapes differ, or axis is out of range.
    """
    if isinstance(values, Output):
        values = unstack(values)
    return pack(list(values), axis=axis, name=name)


def parallel_stack(values: Any, name: str = "parallel_stack") -> Output:
    """`stack` along a new first dimension."""
    return stack(values, name=name)


@op("Unpack", outputs="output: num * T", T=dtypes.ALL)
def unpack(value: T, *, num: int, axis: int = 0) -> Shapes:
    """The `num` slices of `value` along `axis`, without that dimension; see `unstack`."""
    dims = value.shape.dims
    if dims is None:
        return [TensorShape(None)] * num
    at = resolve_axis(axis, len(dims))
    same_dim(dims[at], num, f"dimension {axis} and num")
    return [TensorShape([*dims[:at], *dims[at + 1 :]])] * num


@unpack.gradient
def _(op: Operation, *grads: Output | None) -> Grads:
    return [pack(present(op, grads), axis=op.get_attr("axis"))]


def present(op: Operation, grads: Sequence[Output | None]) -> list[Output]:
    """The gradients of all outputs: zeros for those of which none arrived."""
    return [
        shaping.zeros_like(output) if grad is None else grad
        for output, grad in zip(op.outputs, grads, strict=True)
    ]


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Output]:
    """The slices of `value` along `axis`, without that dimension.

    Args:
        value: any dtype, rank 1 or more.
        num: how many there are; needed only where the dimension is not known statically.
        axis: in [-rank, rank).

    Raises:
        ValueError: num is not given and the dimension is unknown.
        ShapeError: num is not the dimension, or axis is out of range.
    """
    value = convert_to_tensor(value)
    if num is None:
        dims = value.shape.dims
        num = None if dims is None else dims[resolve_axis(axis, len(dims))]
        if num is None:
            raise ValueError(
                f"[unstack] expected num, as dimension {axis} of {value.shape} is unknown"
            )
    if num == 0:
        return []
    return unpack(value, num=num, axis=axis, name=name)


@op("Split", outputs="output: num_split * T", T=dtypes.ALL)
def split_op(split_dim: SplitDim, value: T, *, num_split: int) -> Shapes:
    """`value` cut along `split_dim` into num_split equal parts; see `split`."""
    at, dims = scalar_int(split_dim, "split_dim"), value.shape.dims
    if num_split < 1:
        raise ShapeError(f"expected num_split of 1 or more, got {num_split}")
    if dims is None or at is None:
        return [unknown_of_rank(value.shape.rank)] * num_split
    at = resolve_axis(at, len(dims), "split_dim")
    size = dims[at]
    if size is not None and size % num_split:
        raise ShapeError(f"expected a dimension that {num_split} divides, got {size}")
    part = None if size is None else size // num_split
    return [TensorShape([*dims[:at], part, *dims[at + 1 :]])] * num_split


@split_op.gradient
def _(op: Operation, *grads: Output | None) -> Grads:
    return [None, concat_v2(present(op, grads), op.inputs[0])]


@op("SplitV", outputs="output: num_split * T", T=dtypes.ALL, Tlen=(dtypes.INDEX, dtypes.int64))
def split_v(
    value: T, size_splits: Annotated[In, "Tlen"], split_dim: SplitDim, *, num_split: int
) -> Shapes:
    """`value` cut along `split_dim` into parts of sizes size_splits, one of which may be -1; see
    `split`.
    """
    same_dim(
        dims_of_vector(size_splits, "size_splits"), num_split, "size_splits' length and num_split"
    )
    at, dims, sizes = scalar_int(split_dim, "split_dim"), value.shape.dims, ints(size_splits)
    if dims is None or at is None:
        return [unknown_of_rank(value.shape.rank)] * num_split
    at = resolve_axis(at, len(dims), "split_dim")
    parts = (None,) * num_split if sizes is None else _part_sizes(sizes, dims[at])
    return [TensorShape([*dims[:at], part, *dims[at + 1 :]]) for part in parts]


def _part_sizes(sizes: list[int], total: int | None) -> Dims:
    if any(size < -1 for size in sizes) or sizes.count(-1) > 1:
        raise ShapeError(f"expected sizes of 0 or more with at most one -1, got {sizes}")
    given = sum(size for size in sizes if size != -1)
    if total is None:
        return tuple(None if size == -1 else size for size in sizes)
    if given > total or (given < total and -1 not in sizes):
        raise ShapeError(f"expected sizes that add up to {total}, got {sizes}")
    return tuple(total - given if size == -1 else size for size in sizes)


@split_v.gradient
def _(op: Operation, *grads: Output | None) -> Grads:
    return [concat_v2(present(op, grads), op.inputs[2]), None, None]


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Output]:
    """`value` cut along `axis`.

    Args:
        value: any dtype, rank 1 or more.
        num_or_size_splits: an int, into how many equal parts; or the sizes of the parts, of which
            one may be -1.
        axis: in [-rank, rank).
        num: how many sizes there are; needed only where that is not known statically.

    Raises:
        ValueError: num is needed and not given.
        TypeError: num_or_size_splits is a scalar, but no int.
        ShapeError: the parts do not make up the dimension, or axis is out of range.
    """
    if isinstance(num_or_size_splits, (int, np.integer)):
        return split_op(axis, value, num_split=num_or_size_splits, name=name)
    sizes = convert_to_tensor(num_or_size_splits)
    if sizes.shape.rank == 0:
        raise TypeError(
            "[split] expected num_or_size_splits as an int or a vector of sizes, got "
            f"{describe(num_or_size_splits)}"
        )
    num = sizes.shape.with_rank(1)[0] if num is None else num
    if num is None:
        raise ValueError("[split] expected num, as the number of sizes is unknown")
    return split_v(value, sizes, axis, num_split=num, name=name)


def _packed(values: Any, dtype: DType | None, name: str | None) -> Any:
    """Converts a list to an Output: packed if an Output is anywhere in it, else a constant."""
    found = next(_tensors_in(values), None)
    if found is None:
        return NotImplemented
    dtype = dtype or found.dtype
    parts = [convert_to_tensor(value, dtype=dtype) for value in values]
    return pack(parts, name=name)


def _tensors_in(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors_in(value)
        elif isinstance(value, Output) or hasattr(value, "_as_graph_element"):
            yield value


register_tensor_conversion_function((list, tuple), _packed)
