"""Pieces that shape functions are made of.

A shape function is exact where its inputs are static and says "unknown" (a `None` dimension, or
`TensorShape(None)`) only for what depends on the values of a step.
"""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from qanat.core.constants import describe
from qanat.core.errors import ShapeError
from qanat.core.op_def import In
from qanat.core.shapes import TensorShape

Dims = tuple[int | None, ...]

MAX_DIM = 2**63 - 1


def dims_of_rank(x: In, name: str, rank: int) -> Dims:
    """The dimensions of input `name`, which must have `rank` of them; all None if x's rank is
    unknown.

    Raises:
        ShapeError: x's rank is known and another one.
    """
    dims = x.shape.dims
    if dims is None:
        return (None,) * rank
    if len(dims) != rank:
        raise ShapeError(f"expected {name} of rank {rank}, got shape {x.shape}")
    return dims


def require_scalar(x: In, name: str) -> None:
    """Raises ShapeError where x is known not to be a scalar."""
    if x.shape.dims:
        raise ShapeError(f"expected a scalar {name}, got shape {x.shape}")


def dims_of_vector(x: In, name: str) -> int | None:
    """The length of input `name`, which must be a vector."""
    return dims_of_rank(x, name, 1)[0]


def as_int(value: Any, name: str) -> int:
    """An argument that has to be an integer: text, a float or a bool is not taken for one.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"expected {name} to be an int, got {describe(value)}")


def as_bool(value: Any, name: str) -> bool:
    """An argument that has to be a bool: what Python takes for true, such as "False", is not.

    Raises:
        TypeError: it is none.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(f"expected {name} to be a bool, got {describe(value)}")


def resolve_axis(axis: int, rank: int, name: str = "axis") -> int:
    """`axis` counted from the front.

    Raises:
        TypeError: axis is no int.
        ShapeError: axis is outside [-rank, rank).
    """
    axis = as_int(axis, name)
    if not -rank <= axis < rank:
        raise ShapeError(f"expected {name} in [{-rank}, {rank}), got {axis}")
    return axis % rank


def same_dim(a: int | None, b: int | None, what: str) -> int | None:
    """What is known of a dimension that two inputs share.

    Raises:
        ShapeError: both are known and differ.
    """
    if a is not None and b is not None and a != b:
        raise ShapeError(f"expected {what} to agree, got {a} and {b}")
    return b if a is None else a


def sizes(x: In, name: str) -> TensorShape:
    """The shape that input `name`, a vector of sizes, says, as far as it is known.

    Raises:
        ShapeError: x is no vector, or a size is negative.
    """
    dims_of_vector(x, name)
    known = ints(x)
    if known is not None and min(known, default=0) < 0:
        raise ShapeError(f"expected {name} of 0 or more, got {known}")
    return x.value_as_shape()


def ints(x: In) -> list[int] | None:
    """The elements of a constant input, flattened, or None where x is not statically known."""
    return None if x.value is None else [int(i) for i in x.value.reshape(-1)]


def scalar_int(x: In, name: str) -> int | None:
    """The value of a scalar input if it is statically known."""
    require_scalar(x, name)
    return None if x.value is None else int(x.value.reshape(()))


def add_dims(*dims: int | None) -> int | None:
    """The sum, or None if any dimension is unknown.

    Raises:
        ShapeError: the sum does not fit int64.
    """
    total = 0
    for dim in dims:
        if dim is None:
            return None
        total += dim
    if total > MAX_DIM:
        raise ShapeError(f"expected a dimension that fits int64, got {total}")
    return total


def known_product(dims: Sequence[int | None]) -> int | None:
    """The product, or None where it depends on an unknown dimension; 0 where any dimension is 0."""
    if 0 in dims:
        return 0
    product = 1
    for dim in dims:
        if dim is None:
            return None
        product *= dim
    return product


def unknown_of_rank(rank: int | None) -> TensorShape:
    """A shape of `rank` unknown dimensions; of unknown rank where that is None."""
    return TensorShape(None) if rank is None else TensorShape([None] * rank)
