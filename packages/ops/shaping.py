"""Shapes as values, and tensors under other shapes: nothing here computes with elements."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.convert import register_tensor_conversion_function
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, as_shape
from qanat.ops import reductions, sequences
from qanat.ops.shape_functions import (
    as_bool,
    dims_of_vector,
    known_product,
    require_scalar,
    resolve_axis,
    scalar_int,
    sizes,
    unknown_of_rank,
)

__all__ = [
    "expand_dims",
    "fill",
    "identity_n",
    "ones",
    "ones_like",
    "rank",
    "reshape",
    "shape",
    "shape_n",
    "size",
    "squeeze",
    "stop_gradient",
    "zeros",
    "zeros_like",
]

T = Annotated[In, "T"]


@op("Reshape", outputs="output: T", T=dtypes.ALL, Tshape=(dtypes.INDEX, dtypes.int32))
def reshape(tensor: T, shape: Annotated[In, "Tshape"]) -> Shapes:
    """The elements of `tensor`, in row-major order, under another shape. No bytes move.

    Args:
        tensor: any shape and dtype.
        shape: int32 or int64 vector; one entry may be -1, which is then computed.

    Raises:
        ShapeError: the numbers of elements differ, or `shape` is not a legal shape.
    """
    dims_of_vector(shape, "shape")
    if shape.value is None:
        return [shape.value_as_shape()]
    return [_reshaped(tensor.shape, [int(dim) for dim in shape.value])]


def _reshaped(source: TensorShape, wanted: list[int]) -> TensorShape:
    if any(dim < -1 for dim in wanted) or wanted.count(-1) > 1:
        raise ShapeError(f"expected a shape with at most one -1, got {wanted}")
    total = None if source.dims is None else known_product(source.dims)
    known = known_product([dim for dim in wanted if dim != -1])
    assert known is not None
    fits = total is None or (total == known if -1 not in wanted else _divides(known, total))
    if not fits:
        raise ShapeError(f"expected a shape of {total} elements, got {wanted} for {source}")
    missing = None if total is None or known == 0 else total // known
    return TensorShape([missing if dim == -1 else dim for dim in wanted])


def _divides(known: int, total: int) -> bool:
    return known != 0 and total % known == 0


@reshape.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [reshape_like(grad, op.inputs[0]), None]


def reshape_like(x: Output, like: Output) -> Output:
    """x under `like`'s shape, which has as many elements: a constant shape where it is known."""
    return reshape(x, shape_of(like))


def shape_of(x: Output) -> Any:
    """x's shape as a constant where it is known, else as the op `shape`."""
    if x.shape.is_fully_defined():
        assert x.shape.dims is not None
        dtype = np.int32 if all(d < 2**31 for d in x.shape.dims if d is not None) else np.int64
        return np.array(x.shape.dims, dtype)
    return shape_op(x, out_type=dtypes.int32)


def all_axes(x: Output) -> Any:
    """All axes of x as a constant where its rank is known, else computed in the step."""
    if x.shape.dims is not None:
        return np.arange(len(x.shape.dims), dtype=np.int32)
    return sequences.range(0, rank(x), 1)


@op("ExpandDims", outputs="output: T", T=dtypes.ALL, Tdim=(dtypes.INDEX, dtypes.int32))
def expand_dims_op(input: T, dim: Annotated[In, "Tdim"]) -> Shapes:
    """`input` with a dimension of 1 put in at `dim`, which counts in the result and may be
    negative.
    """
    dims, axis = input.shape.dims, scalar_int(dim, "dim")
    if dims is None:
        return [TensorShape(None)]
    if axis is None:
        return [unknown_of_rank(len(dims) + 1)]
    at = resolve_axis(axis, len(dims) + 1)
    return [TensorShape((*dims[:at], 1, *dims[at:]))]


@expand_dims_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [reshape_like(grad, op.inputs[0]), None]


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Output:
    """`input` with a dimension of 1 put in at `axis`, which counts in the result.

    Args:
        input: any shape and dtype.
        axis: an int in [-rank - 1, rank], or a scalar tensor of it. `dim` is its older name.

    Raises:
        ShapeError: axis is out of range.
    """
    return expand_dims_op(input, one_of("axis", axis, "dim", dim), name=name)


def one_of(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """The one of an argument's two names that was given; None if neither was.

    Raises:
        ValueError: both were given.
    """
    if value is not None and old_value is not None:
        raise ValueError(f"expected {name} or its older name {old_name}, got both")
    return old_value if value is None else value


def keeps_dims(keepdims: Any, keep_dims: Any) -> bool:
    """The flag `keepdims` or its older name; False if neither was given.

    Raises:
        TypeError: it is no bool.
        ValueError: both were given.
    """
    flag = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    return flag is not None and as_bool(flag, "keepdims")


@op("Squeeze", outputs="output: T", T=dtypes.ALL)
def squeeze_op(input: T, *, squeeze_dims: Sequence[int] = ()) -> Shapes:
    """`input` without the dimensions `squeeze_dims`, which must be 1; without all of size 1 if
    empty.
    """
    dims = input.shape.dims
    if dims is None:
        return [TensorShape(None)]
    if not squeeze_dims:
        known = all(dim is not None for dim in dims)
        return [TensorShape([d for d in dims if d != 1]) if known else TensorShape(None)]
    gone = {resolve_axis(axis, len(dims)) for axis in squeeze_dims}
    for axis in gone:
        if dims[axis] not in (None, 1):
            raise ShapeError(f"expected dimension {axis} to be 1, got shape {input.shape}")
    return [TensorShape([d for i, d in enumerate(dims) if i not in gone])]


@squeeze_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [reshape_like(grad, op.inputs[0])]


def squeeze(
    input: Any,
    axis: int | Sequence[int] | None = None,
    name: str | None = None,
    squeeze_dims: int | Sequence[int] | None = None,
) -> Output:
    """`input` without its dimensions of 1, or without the ones in `axis` only.

    Args:
        input: any shape and dtype.
        axis: an int or several, each in [-rank, rank). `squeeze_dims` is its older name.

    Raises:
        ShapeError: a dimension in axis is not 1, or axis is out of range.
    """
    axes = one_of("axis", axis, "squeeze_dims", squeeze_dims)
    axes = [] if axes is None else [axes] if np.ndim(axes) == 0 else list(axes)
    return squeeze_op(input, squeeze_dims=axes, name=name)


@op("Shape", outputs="output: out_type", T=dtypes.ALL, differentiable=False)
def shape_op(input: T, *, out_type: DType = dtypes.int32) -> Shapes:
    """The shape of `input` as a vector of out_type."""
    return [TensorShape([None if input.shape.dims is None else len(input.shape.dims)])]


@shape_op.static_value
def _(input: In, *, out_type: DType) -> TensorShape | None:
    return None if input.shape.dims is None else input.shape


def shape(input: Any, name: str | None = None, out_type: DType = dtypes.int32) -> Output:
    """The shape of `input` as a vector of `out_type` (int32 or int64)."""
    return shape_op(input, out_type=out_type, name=name)


@op("ShapeN", outputs="output: N * out_type", T=dtypes.ALL, differentiable=False)
def shape_n(input: Annotated[list[In], "N * T"], *, out_type: DType = dtypes.int32) -> Shapes:
    """The shapes of several tensors of one dtype, a vector each."""
    return [TensorShape([None if x.shape.dims is None else len(x.shape.dims)]) for x in input]


@op("Rank", outputs="output: int32", T=dtypes.ALL, differentiable=False)
def rank(input: T) -> Shapes:
    """The number of dimensions of `input`, a scalar int32."""
    return [TensorShape([])]


@rank.static_value
def _(input: In) -> np.ndarray[Any, Any] | None:
    return None if input.shape.rank is None else np.array(input.shape.rank, np.int32)


@op("Size", outputs="output: out_type", T=dtypes.ALL, differentiable=False)
def size_op(input: T, *, out_type: DType = dtypes.int32) -> Shapes:
    """The number of elements of `input`, a scalar of out_type."""
    return [TensorShape([])]


@size_op.static_value
def _(input: In, *, out_type: DType) -> np.ndarray[Any, Any] | None:
    count = input.shape.num_elements()
    return None if count is None else np.array(count, out_type.as_numpy)


def size(input: Any, name: str | None = None, out_type: DType = dtypes.int32) -> Output:
    """The number of elements of `input`, a scalar of `out_type` (int32 or int64)."""
    return size_op(input, out_type=out_type, name=name)


@op("Fill", outputs="output: T", T=dtypes.ALL, index_type=(dtypes.INDEX, dtypes.int32))
def fill(dims: Annotated[In, "index_type"], value: T) -> Shapes:
    """A tensor of shape `dims` whose elements are all the scalar `value`."""
    require_scalar(value, "value")
    return [sizes(dims, "dims")]


@fill.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None, reductions.reduce_sum(grad)]


@op("ZerosLike", outputs="y: T", T=dtypes.ALL)
def zeros_like_op(x: T) -> Shapes:
    """Zeros (False, empty strings) of x's shape and dtype."""
    return [x.shape]


@op("OnesLike", outputs="y: T", T=dtypes.NUMERIC | {dtypes.bool_})
def ones_like_op(x: T) -> Shapes:
    """Ones (True) of x's shape and dtype."""
    return [x.shape]


@zeros_like_op.gradient
@ones_like_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None]


def zeros_like(
    tensor: Any, dtype: DType | None = None, name: str | None = None, optimize: bool = True
) -> Output:
    """Zeros of `tensor`'s shape, and of its dtype or another one.

    Args:
        optimize: make a constant-shape `fill` where the shape is known, instead of waiting for the
            tensor.
    """
    return _like(tensor, 0, zeros_like_op, dtype, name, optimize)


def ones_like(
    tensor: Any, dtype: DType | None = None, name: str | None = None, optimize: bool = True
) -> Output:
    """Ones of `tensor`'s shape, and of its dtype or another one.

    Args:
        optimize: make a constant-shape `fill` where the shape is known, instead of waiting for the
            tensor.
    """
    return _like(tensor, 1, ones_like_op, dtype, name, optimize)


def _like(
    tensor: Any, value: int, builder: Any, dtype: DType | None, name: str | None, optimize: bool
) -> Output:
    x = convert_to_tensor(tensor)
    dtype = x.dtype if dtype is None else dtypes.as_dtype(dtype)
    if dtype == x.dtype and not (optimize and x.shape.is_fully_defined()):
        out: Output = builder(x, name=name)
        return out
    return _filled(shape_of(x), value, dtype, name, "zeros_like" if value == 0 else "ones_like")


def _filled(shape: Any, value: int, dtype: DType, name: str | None, default: str) -> Output:
    element = np.zeros((), dtype.as_numpy) if value == 0 else np.ones((), dtype.as_numpy)
    if dtype == dtypes.string:
        element = np.array(b"", object)
    with name_scope(name, default, [shape]) as scope:
        out: Output = fill(shape, convert_to_tensor(element, dtype=dtype), name=scope)
        return out


def zeros(shape: Any, dtype: DType | str = dtypes.float32, name: str | None = None) -> Output:
    """Zeros (False, empty strings) of a shape: ints, a TensorShape or an integer vector."""
    return _filled(as_shape_input(shape), 0, dtypes.as_dtype(dtype), name, "zeros")


def ones(shape: Any, dtype: DType | str = dtypes.float32, name: str | None = None) -> Output:
    """Ones of a shape: ints, a TensorShape or an integer vector."""
    return _filled(as_shape_input(shape), 1, dtypes.as_dtype(dtype), name, "ones")


def as_shape_input(shape: Any) -> Any:
    """A shape argument as what an op's shape input takes: an integer vector, even if it is empty.

    Raises:
        ShapeError: a size is unknown or negative.
        TypeError: a size is no integer.
    """
    if isinstance(shape, Output):
        return shape
    if isinstance(shape, list | tuple) and any(isinstance(dim, Output) for dim in shape):
        return convert_to_tensor(list(shape), dtype=dtypes.int32)
    known = as_shape(shape)
    if known.dims is None or None in known.dims:
        raise ShapeError(f"expected a fully defined shape, got {shape}")
    big = any(dim >= 2**31 for dim in known.dims if dim is not None)
    return np.array(known.dims, np.int64 if big else np.int32)


def _constant_shape(shape: TensorShape, dtype: DType | None, name: str | None) -> Output:
    """Converts a static shape to an Output, a vector, for which it has to be fully known."""
    return convert_to_tensor(as_shape_input(shape), name=name)


register_tensor_conversion_function(TensorShape, _constant_shape)


@op("StopGradient", outputs="output: T", T=dtypes.ALL)
def stop_gradient(input: T) -> Shapes:
    """`input`, but no gradient flows back through it."""
    return [input.shape]


@stop_gradient.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None]


@op("PreventGradient", outputs="output: T", T=dtypes.ALL)
def prevent_gradient(input: T, *, message: str = "") -> Shapes:
    """`input`; to ask for a gradient through it is an error that says `message`."""
    return [input.shape]


@prevent_gradient.gradient
def _(op: Operation, grad: Output) -> Grads:
    raise LookupError(f"[PreventGradient] no gradient is defined here: {op.get_attr('message')}")


@op("IdentityN", outputs="output: T", T=dtypes.ALL)
def identity_n(input: Annotated[list[In], "T"]) -> Shapes:
    """Each of several tensors of any dtypes, available when all of them are."""
    return [x.shape for x in input]


@identity_n.gradient
def _(op: Operation, *grads: Output | None) -> Grads:
    return list(grads)
