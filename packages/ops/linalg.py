"""Products of matrices and of vectors."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import arranging, shaping
from qanat.ops.shape_functions import (
    Dims,
    as_int,
    dims_of_rank,
    known_product,
    resolve_axis,
    same_dim,
)

__all__ = ["cross", "matmul", "tensordot"]

T = Annotated[In, "T"]
MULTIPLIED = dtypes.FLOATING | dtypes.INDEX
INNER = "inner dimensions"


def _product(a: Dims, b: Dims, transpose_a: bool, transpose_b: bool) -> Dims:
    """The shape of the product of two matrices."""
    rows, inner = reversed(a) if transpose_a else a
    other, columns = reversed(b) if transpose_b else b
    same_dim(inner, other, INNER)
    return rows, columns


@op("MatMul", outputs="product: T", T=MULTIPLIED)
def mat_mul(a: T, b: T, *, transpose_a: bool = False, transpose_b: bool = False) -> Shapes:
    """The product of two matrices, either of which may be taken transposed; see `matmul`."""
    shapes = dims_of_rank(a, "a", 2), dims_of_rank(b, "b", 2)
    return [TensorShape(_product(*shapes, transpose_a, transpose_b))]


@mat_mul.gradient
def _(op: Operation, grad: Output) -> Grads:
    a, b = op.inputs
    return _product_gradient(mat_mul, "transpose_a", "transpose_b", op, a, b, grad)


@op("BatchMatMul", outputs="output: T", T=MULTIPLIED)
def batch_mat_mul(x: T, y: T, *, adj_x: bool = False, adj_y: bool = False) -> Shapes:
    """Products of the matrices in the last two dimensions of x and y, which agree in all others.

    Raises:
        ShapeError: a rank is below 2, or the shapes do not go together (nothing is broadcast).
    """
    for operand, name in ((x, "x"), (y, "y")):
        if operand.shape.rank is not None and operand.shape.rank < 2:
            raise ShapeError(f"expected {name} of rank 2 or more, got shape {operand.shape}")
    if x.shape.dims is None or y.shape.dims is None:
        return [TensorShape(None)]
    batch = merge(TensorShape(x.shape.dims[:-2]), TensorShape(y.shape.dims[:-2]))
    product = _product(x.shape.dims[-2:], y.shape.dims[-2:], adj_x, adj_y)
    return [TensorShape([*batch.known_dims(), *product])]


@batch_mat_mul.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y = op.inputs
    return _product_gradient(batch_mat_mul, "adj_x", "adj_y", op, x, y, grad)


def _product_gradient(
    product: Any, flag_a: str, flag_b: str, op: Operation, a: Output, b: Output, grad: Output
) -> Grads:
    """d(op(a) op(b)): grad op(b)^T and op(a)^T grad, each transposed where its operand was."""

    def of(x: Output, y: Output, transpose_x: bool, transpose_y: bool) -> Output:
        return product(x, y, **{flag_a: transpose_x, flag_b: transpose_y})

    ta, tb = op.get_attr(flag_a), op.get_attr(flag_b)
    for_a = of(b, grad, tb, True) if ta else of(grad, b, False, not tb)
    for_b = of(grad, a, True, ta) if tb else of(a, grad, not ta, False)
    return [for_a, for_b]


@op("Cross", outputs="product: T", T=dtypes.REAL)
def cross(a: T, b: T) -> Shapes:
    """The cross products of the vectors in the last dimension.

    Args:
        a: [..., 3]; any real numbers.
        b: a's shape (nothing is broadcast) and dtype.

    Returns:
        [..., 3], of a's dtype: a[1] * b[2] - a[2] * b[1] and so on in turn; integers wrap.

    Raises:
        ShapeError: the shapes do not agree, or the last dimension is not 3.
    """
    shape = merge(a.shape, b.shape)
    if shape.dims is None:
        return [shape]
    if not shape.dims or shape.dims[-1] not in (3, None):
        raise ShapeError(f"expected vectors of 3 in the last dimension, got shape {shape}")
    return [TensorShape([*shape.dims[:-1], 3])]


@cross.gradient
def _(op: Operation, grad: Output) -> Grads:
    """grad . (da x b) = da . (b x grad), and so with db."""
    a, b = op.inputs
    return [cross(b, grad), cross(grad, a)]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Output:
    """The product of two matrices, or of the matrices in the last two dimensions.

    Args:
        a: [..., m, k], or [..., k, m] with transpose_a; floating-point, int32 or int64.
        b: [..., k, n], or [..., n, k] with transpose_b; a's dtype and leading dimensions.
        transpose_a, transpose_b: take the operand transposed.
        adjoint_a, adjoint_b: the same, as all numbers are real.
        a_is_sparse, b_is_sparse: have no effect.

    Returns:
        [..., m, n]. The order of additions is fixed, so the result is repeatable.

    Raises:
        ShapeError: the inner or leading dimensions do not agree, or a rank is below 2.
    """
    a = convert_to_tensor(a, dtype=b.dtype if isinstance(b, Output) else None)
    b = convert_to_tensor(b, dtype=a.dtype)
    ta, tb = transpose_a or adjoint_a, transpose_b or adjoint_b
    ranks = a.shape.rank, b.shape.rank
    if (ranks[0] or 2) > 2 or (ranks[1] or 2) > 2:
        return batch_mat_mul(a, b, adj_x=ta, adj_y=tb, name=name)
    return mat_mul(a, b, transpose_a=ta, transpose_b=tb, name=name)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Output:
    """Sums products over pairs of axes; as `numpy.tensordot`.

    Args:
        a, b: tensors of fully known shapes and one dtype.
        axes: an int n: the last n of a with the first n of b; or two lists of axes.

    Raises:
        ShapeError: the paired dimensions differ, or a shape is not fully known.
    """
    a = convert_to_tensor(a)
    b = convert_to_tensor(b, dtype=a.dtype)
    if not (a.shape.is_fully_defined() and b.shape.is_fully_defined()):
        raise ShapeError(f"[tensordot] expected fully known shapes, got {a.shape} and {b.shape}")
    rank_a, rank_b = len(a.shape), len(b.shape)
    if isinstance(axes, np.ndarray):
        axes = axes.tolist()
    if isinstance(axes, list | tuple):
        pairs = [list(axis) if isinstance(axis, Sequence) else [axis] for axis in axes]
    else:
        count = as_int(axes, "axes")
        pairs = [list(range(rank_a - count, rank_a)), list(range(count))]
    summed_a = [resolve_axis(axis, rank_a) for axis in pairs[0]]
    summed_b = [resolve_axis(axis, rank_b) for axis in pairs[1]]
    kept_a = [i for i in range(rank_a) if i not in summed_a]
    kept_b = [i for i in range(rank_b) if i not in summed_b]
    inner = known_product([a.shape[i] for i in summed_a]) or 0
    rows = arranging.transpose(a, kept_a + summed_a)
    columns = arranging.transpose(b, summed_b + kept_b)
    product = mat_mul(
        shaping.reshape(rows, [known_product([a.shape[i] for i in kept_a]), inner]),
        shaping.reshape(columns, [inner, known_product([b.shape[i] for i in kept_b])]),
    )
    return shaping.reshape(
        product, [*(a.shape[i] for i in kept_a), *(b.shape[i] for i in kept_b)], name=name
    )
