"""Elements moved to other places: transposed, reversed, repeated, padded."""

from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops import joining, reductions, sequences, shaping, slicing
from qanat.ops.shape_functions import (
    add_dims,
    dims_of_vector,
    ints,
    require_scalar,
    resolve_axis,
    same_dim,
)

__all__ = [
    "invert_permutation",
    "matrix_transpose",
    "pad",
    "reverse",
    "reverse_v2",
    "tile",
    "transpose",
]

T = Annotated[In, "T"]


@op("Transpose", outputs="y: T", T=dtypes.ALL, Tperm=(dtypes.INDEX, dtypes.int32))
def transpose_op(x: T, perm: Annotated[In, "Tperm"]) -> Shapes:
    """x with dimension perm[i] at place i; see `transpose`."""
    order, rank = ints(perm), x.shape.rank
    same_dim(dims_of_vector(perm, "perm"), rank, "perm's length and x's rank")
    if order is not None and sorted(i + len(order) * (i < 0) for i in order) != list(
        range(len(order))
    ):
        raise ShapeError(f"expected a permutation of {len(order)} axes, got {order}")
    if rank is None:
        rank = dims_of_vector(perm, "perm")
    if order is None or x.shape.dims is None:
        return [TensorShape(None if rank is None else [None] * rank)]
    return [TensorShape([x.shape.dims[i] for i in order])]


@transpose_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    perm = op.inputs[1]
    order = ints(In(perm))
    if order is None:
        return [transpose_op(grad, invert_permutation(perm)), None]
    return [transpose_op(grad, np.argsort([i % len(order) for i in order]).astype(np.int32)), None]


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Output:
    """`a` with its dimensions in another order.

    Args:
        a: any shape and dtype.
        perm: dimension perm[i] of `a` becomes dimension i; all reversed if not given.
        conjugate: for complex numbers, which is not supported.

    Raises:
        ShapeError: perm is no permutation of a's axes.
        NotImplementedError: conjugate is true.
    """
    if conjugate:
        raise NotImplementedError(
            "[transpose] expected conjugate=False: conjugation is not supported"
        )
    a = convert_to_tensor(a)
    if perm is not None:
        return transpose_op(a, perm, name=name)
    if a.shape.rank is not None:
        return transpose_op(a, np.arange(a.shape.rank, dtype=np.int32)[::-1], name=name)
    with name_scope(name, "transpose", [a]) as scope:
        last = shaping.rank(a) - 1
        return transpose_op(a, sequences.range(last, -1, -1), name=scope)


def matrix_transpose(a: Any, name: str = "matrix_transpose") -> Output:
    """`a`, of known rank 2 or more, with its last two dimensions exchanged."""
    a = convert_to_tensor(a)
    if a.shape.rank is None or a.shape.rank < 2:
        raise ShapeError(f"[matrix_transpose] expected a known rank of 2 or more, got {a.shape}")
    axes = list(range(a.shape.rank))
    return transpose_op(a, [*axes[:-2], axes[-1], axes[-2]], name=name)


@op("InvertPermutation", outputs="y: T", T=(dtypes.INDEX, dtypes.int32), differentiable=False)
def invert_permutation(x: T) -> Shapes:
    """y with y[x[i]] = i for a vector x that is a permutation of 0 ... n - 1; anything else fails
    the step.
    """
    order = ints(x)
    if order is not None and sorted(order) != list(range(len(order))):
        raise ShapeError(f"expected a permutation of 0 to {len(order) - 1}, got {order}")
    return [TensorShape([dims_of_vector(x, "x")])]


@op("ReverseV2", outputs="output: T", T=dtypes.ALL, Tidx=(dtypes.INDEX, dtypes.int32))
def reverse_v2(tensor: T, axis: Annotated[In, "Tidx"]) -> Shapes:
    """`tensor` with the order of elements reversed along each axis in `axis`, a vector.

    Raises:
        ShapeError: an axis is out of range or named twice.
    """
    dims_of_vector(axis, "axis")
    axes = ints(axis)
    if axes is not None and tensor.shape.dims is not None:
        resolved = [resolve_axis(i, len(tensor.shape.dims)) for i in axes]
        if len(set(resolved)) < len(resolved):
            raise ShapeError(f"expected each axis once, got {axes}")
    return [tensor.shape]


@reverse_v2.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [reverse_v2(grad, op.inputs[1]), None]


reverse = reverse_v2


@op("Tile", outputs="output: T", T=dtypes.ALL, Tmultiples=(dtypes.INDEX, dtypes.int32))
def tile(input: T, multiples: Annotated[In, "Tmultiples"]) -> Shapes:
    """`input` repeated multiples[i] times along dimension i.

    Args:
        input: any dtype, rank at least 1.
        multiples: integer vector as long as input's rank, 0 or more each.

    Raises:
        ShapeError: the length of multiples is not input's rank, or one is negative.
    """
    times, dims = ints(multiples), input.shape.dims
    rank = same_dim(
        dims_of_vector(multiples, "multiples"),
        input.shape.rank,
        "multiples' length and input's rank",
    )
    if times is not None and any(m < 0 for m in times):
        raise ShapeError(f"expected multiples of 0 or more, got {times}")
    if times is None or dims is None:
        return [TensorShape(None if rank is None else [None] * rank)]
    return [TensorShape([None if d is None else d * m for d, m in zip(dims, times, strict=True)])]


@tile.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Sums over the copies, each in a dimension of its own."""
    x, multiples = op.inputs
    times = ints(In(multiples))
    if times is None or not x.shape.is_fully_defined():
        pairs = joining.stack([multiples, shaping.shape(x, out_type=multiples.dtype)], axis=1)
        copies = sequences.range(0, shaping.size(pairs), 2)
        return [
            reductions.reduce_sum(shaping.reshape(grad, shaping.reshape(pairs, [-1])), copies),
            None,
        ]
    split: list[int] = []
    axes: list[int] = []
    for dim, m in zip(x.shape.as_list(), times, strict=True):
        if m != 1:
            axes.append(len(split))
            split.append(m)
        split.append(dim or 0)
    if not axes:
        return [grad, None]
    return [reductions.reduce_sum(shaping.reshape(grad, split), axes), None]


Tpaddings = Annotated[In, "Tpaddings"]


def _padded(x: In, paddings: In) -> Shapes:
    rows = paddings.shape.with_rank(2)
    rank = same_dim(rows[0], x.shape.rank, "the number of paddings and input's rank")
    same_dim(rows[1], 2, "the two columns of paddings")
    if paddings.value is None or x.shape.dims is None:
        return [TensorShape(None if rank is None else [None] * rank)]
    if paddings.value.size and paddings.value.min() < 0:
        raise ShapeError(f"expected paddings of 0 or more, got {paddings.value.tolist()}")
    return [
        TensorShape(
            [
                None if dim is None else add_dims(dim, int(before), int(after))
                for dim, (before, after) in zip(x.shape.dims, paddings.value, strict=True)
            ]
        )
    ]


@op("Pad", outputs="output: T", T=dtypes.ALL, Tpaddings=(dtypes.INDEX, dtypes.int32))
def pad_op(input: T, paddings: Tpaddings) -> Shapes:
    """`input` with paddings[i] = (before, after) zeros put around dimension i; see `pad`."""
    return _padded(input, paddings)


@op("PadV2", outputs="output: T", T=dtypes.ALL, Tpaddings=(dtypes.INDEX, dtypes.int32))
def pad_v2(input: T, paddings: Tpaddings, constant_values: T) -> Shapes:
    """`input` with paddings[i] = (before, after) elements constant_values around dimension i; see
    `pad`.
    """
    require_scalar(constant_values, "constant_values")
    return _padded(input, paddings)


def _inside(op: Operation, grad: Output) -> Output:
    """The part of `grad` that is not padding."""
    x, paddings = op.inputs[:2]
    value = In(paddings).value
    if value is None:
        start: Any = slicing.getitem(paddings, (slice(None), 0))
    else:
        start = np.ascontiguousarray(value[:, 0])
    size = shaping.shape_of(x)
    if isinstance(size, Output):
        size = shaping.shape(x, out_type=paddings.dtype)
    else:
        size = size.astype(paddings.dtype.as_numpy)
    return slicing.slice_op(grad, start, size)


@pad_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [_inside(op, grad), None]


@pad_v2.gradient
def _(op: Operation, grad: Output) -> Grads:
    inside = _inside(op, grad)
    is_padding = pad_v2(shaping.zeros_like(inside), op.inputs[1], 1)
    return [inside, None, reductions.reduce_sum(grad * is_padding)]


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Output:
    """`tensor` with elements put around it.

    Args:
        tensor: any shape and dtype.
        paddings: integer [rank, 2]: how many elements come before and after each dimension.
        mode: "CONSTANT".
        constant_values: a scalar, the new elements.

    Raises:
        ShapeError: paddings has another shape or a negative element.
        ValueError: mode is another one.
    """
    if mode.upper() != "CONSTANT":
        raise ValueError(f"[pad] expected mode CONSTANT, got {mode}")
    if not isinstance(constant_values, Output) and constant_values == 0:
        return pad_op(tensor, paddings, name=name)
    return pad_v2(tensor, paddings, constant_values, name=name)
