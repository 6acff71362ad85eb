"""Conversion between element types."""

from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops import arithmetic

__all__ = [
    "cast",
    "saturate_cast",
    "to_bfloat16",
    "to_double",
    "to_float",
    "to_int32",
    "to_int64",
]

CASTABLE = dtypes.NUMERIC | frozenset({dtypes.bool_})


@op("Cast", outputs="y: DstT", SrcT=CASTABLE)
def cast_op(x: Annotated[In, "SrcT"], *, DstT: DType, Truncate: bool = False) -> Shapes:
    """x's elements as DstT.

    Floats become integers by cutting towards 0, saturating at the limits of DstT, NaN becoming 0;
    integers wrap; floats round to nearest even. Of a complex number, its real part becomes a real
    one. To bool: whether the element differs from 0.
    With Truncate, extra mantissa bits are cut off instead of rounded.
    """
    return [x.shape]


@cast_op.static_value
def _(x: In, *, DstT: DType, Truncate: bool) -> np.ndarray[Any, Any] | TensorShape | None:
    """Of indices and sizes, which may be known in part only."""
    if x.dtype not in dtypes.INDEX or DstT not in dtypes.INDEX:
        return None
    if x.value is not None:
        return x.value.astype(DstT.as_numpy)
    return x.value_as_shape() if x.shape.rank == 1 else None


@cast_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    source = op.inputs[0].dtype
    if source not in dtypes.FLOATING or grad.dtype not in dtypes.FLOATING:
        return [None]
    return [cast_op(grad, DstT=source)]


def cast(x: Any, dtype: DType | str, name: str | None = None) -> Output:
    """x's elements as `dtype`; x itself where it has that dtype.

    Floats become integers by cutting towards 0, saturating at the limits, NaN becoming 0; integers
    wrap. The gradient flows through casts between floating-point types only.

    Args:
        x: a tensor of any shape, numbers or bools.
        dtype: the dtype wanted.
    """
    x = convert_to_tensor(x)
    dtype = dtypes.as_dtype(dtype)
    return x if x.dtype == dtype else cast_op(x, DstT=dtype, name=name)


def saturate_cast(value: Any, dtype: DType | str, name: str | None = None) -> Output:
    """`cast`, except that values beyond `dtype`'s limits become those limits, of integers too."""
    x = convert_to_tensor(value)
    dtype = dtypes.as_dtype(dtype)
    if x.dtype in dtypes.INTEGER and dtype in dtypes.INTEGER:
        if x.dtype.min < dtype.min:
            x = arithmetic.maximum(x, convert_to_tensor(dtype.min, dtype=x.dtype))
        if x.dtype.max > dtype.max:
            x = arithmetic.minimum(x, convert_to_tensor(dtype.max, dtype=x.dtype))
    return cast(x, dtype, name=name)


def to_float(x: Any, name: str = "ToFloat") -> Output:
    """x as float32."""
    return cast(x, dtypes.float32, name=name)


def to_double(x: Any, name: str = "ToDouble") -> Output:
    """x as float64."""
    return cast(x, dtypes.float64, name=name)


def to_int32(x: Any, name: str = "ToInt32") -> Output:
    """x as int32."""
    return cast(x, dtypes.int32, name=name)


def to_int64(x: Any, name: str = "ToInt64") -> Output:
    """x as int64."""
    return cast(x, dtypes.int64, name=name)


def to_bfloat16(x: Any, name: str = "ToBFloat16") -> Output:
    """x as bfloat16."""
    return cast(x, dtypes.bfloat16, name=name)
