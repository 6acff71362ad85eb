"""Cases of arithmetic with broadcasting."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Input, Misuse, listed, nonzero, numbers
from qanat.ops import arithmetic as a

SHAPES = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((2, 1, 3), (4, 1)),
    ((0, 3), (1, 3)),
    ((0, 3), ()),
    ((1037,), (1037,)),
    ((1037,), ()),
    ((3, 1, 67), (1, 5, 67)),
]

DISAGREE = Misuse((numbers(2, 3), numbers(2, 4)), r"\[2,3\].*\[2,4\]")


def _broadcasting(
    op: Any,
    oracle: Callable[..., Any],
    make_x: Callable[..., Input] = numbers,
    make_y: Callable[..., Input] = numbers,
    **how: Any,
) -> list[Case]:
    """A function of two tensors, in all ways their shapes may go together."""
    tried = [Case(op, (make_x(*x), make_y(*y)), oracle=oracle, **how) for x, y in SHAPES]
    return [*tried, Case(op, (make_x(1), make_y(1)), oracle=oracle, misuse=[DISAGREE], **how)]


def _positive(*shape: int) -> Input:
    return numbers(*shape, low=0.5, high=3.0)


def _values(
    op: Any,
    x: Any,
    y: Any,
    oracle: Callable[..., Any],
    dtypes: Iterable[DType],
    misuse: Iterable[Misuse] = (),
) -> Case:
    """A function of two given vectors."""
    return Case(op, (listed(x), listed(y)), oracle=oracle, dtypes=dtypes, gradient=False,
                misuse=list(misuse))  # fmt: skip


def _by_zero(op: Any) -> Case:
    """An integer op that refuses to divide by 0, and wraps where the quotient does not fit."""
    refused = Misuse(
        (listed([1, 2]), listed([1, 0])),
        "other than 0, got 0",
        InvalidArgumentError,
        {},
        dtypes.int32,
    )
    return Case(
        op, (listed([7]), listed([2])), oracle=None, dtypes=[dtypes.int32], misuse=[refused]
    )


def _quotient(x: Any, y: Any) -> Any:
    """Cut towards 0, for integers that a float64 holds."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind == "f":
        return x / y
    size = np.abs(x.astype(np.float64)) // np.abs(y.astype(np.float64))
    return (size * np.sign(x) * np.sign(y)).astype(x.dtype)


def _remainder(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


def _wrapped_quotient(x: Any, y: Any) -> Any:
    return np.array([np.iinfo(x.dtype).min], x.dtype)


NAN, INF = np.nan, np.inf

_DIVISIONS = [
    *_broadcasting(a.realdiv, lambda x, y: x / y, make_y=nonzero),
    *_broadcasting(a.div_op, _quotient, make_x=nonzero, make_y=nonzero),
    *_broadcasting(a.floordiv, np.floor_divide, make_x=nonzero, make_y=nonzero),
    *_broadcasting(a.truncatediv, _quotient, make_x=nonzero, make_y=nonzero),
    *_broadcasting(a.floormod, np.mod, make_x=nonzero, make_y=nonzero),
    *_broadcasting(a.truncatemod, _remainder, make_x=nonzero, make_y=nonzero),
    *_broadcasting(a.div_no_nan, lambda x, y: x / y, make_y=nonzero),
    *_broadcasting(a.xdivy, lambda x, y: x / y, make_y=nonzero),
    *_broadcasting(a.mul_no_nan, lambda x, y: x * y),
    *(_by_zero(op) for op in (a.div_op, a.floordiv, a.truncatediv, a.floormod, a.truncatemod)),
    *(
        Case(op, (listed([np.iinfo(dtype.as_numpy).min], dtype), listed([-1], dtype)),
             oracle=_wrapped_quotient, gradient=False)
        for op in (a.div_op, a.floordiv, a.truncatediv)
        for dtype in (dtypes.int8, dtypes.int32, dtypes.int64)
    ),
    _values(a.realdiv, [1.0, -1.0, 0.0], [0.0, 0.0, 0.0], np.divide, dtypes.FLOATING),
    _values(a.div_no_nan, [1.0, 0.0, NAN, 6.0], [0.0, 0.0, 0.0, 2.0], lambda x, y: [0, 0, 0, 3],
            dtypes.FLOATING),
    _values(a.xdivy, [0.0, 0.0, 1.0, 0.0], [0.0, NAN, 0.0, INF], lambda x, y: [0, 0, INF, 0],
            dtypes.FLOATING),
    _values(a.mul_no_nan, [INF, NAN, 3.0, INF], [0.0, 0.0, 2.0, 1.0], lambda x, y: [0, 0, 6, INF],
            dtypes.FLOATING),
    _values(a.floormod, [5.5, -5.5, 5.5, -5.5], [2.0, 2.0, -2.0, -2.0], np.mod, dtypes.FLOATING),
    _values(a.truncatemod, [5, -5, 5, -5], [3, 3, -3, -3], np.fmod, dtypes.SIGNED),
]  # fmt: skip

NEGATIVE_POWER = Misuse((listed([2, 3]), listed([1, -1])), "exponents >= 0", InvalidArgumentError,
                        {},
                        dtypes.int32)  # fmt: skip

CASES = [
    *_broadcasting(a.add, lambda x, y: x + y),
    *_broadcasting(a.subtract, lambda x, y: x - y),
    *_broadcasting(a.multiply, lambda x, y: x * y),
    *_broadcasting(a.maximum, np.maximum),
    *_broadcasting(a.minimum, np.minimum),
    *_broadcasting(a.squared_difference, lambda x, y: (x - y) * (x - y)),
    *_broadcasting(a.pow, np.power, make_x=_positive, make_y=_positive),
    *_broadcasting(a.atan2, np.arctan2, make_x=nonzero, make_y=nonzero),
    *_DIVISIONS,
    _values(a.add, [INF, NAN, 1.0], [-INF, 1.0, NAN], np.add, dtypes.FLOATING),
    _values(a.maximum, [NAN, 1.0, -0.0], [1.0, NAN, 0.0], lambda x, y: [NAN, NAN, 0],
            dtypes.FLOATING),
    _values(a.minimum, [NAN, 1.0, INF], [1.0, NAN, 2.0], lambda x, y: [NAN, NAN, 2],
            dtypes.FLOATING),
    _values(a.pow, [2, -3, 0, 7], [10, 3, 0, 1], np.power, dtypes.INDEX, [NEGATIVE_POWER]),
    Case(a.pow, (listed([0.0, -1.5, 2.0, 0.0]), [0.0, 0.0, 0.0, 2.0]), oracle=np.power,
         dtypes=dtypes.FLOATING),
    _values(a.pow, [0.0, -8.0, 2.0], [0.0, 3.0, -2.0], np.power, dtypes.FLOATING),
    Case(a.add_n, ([numbers(2, 3)],), oracle=lambda xs: xs[0]),
    Case(a.add_n, ([numbers(2, 3), numbers(2, 3), numbers(2, 3)],), oracle=sum,
         misuse=[Misuse(([numbers(2, 3), numbers(3)],), "shapes that agree")]),
    Case(a.add_n, ([numbers(0, 3), numbers(0, 3)],), oracle=sum),
    Case(a.add_n, ([numbers(1037)] * 5,), oracle=sum, tolerance=4.0),
    Case(a.accumulate_n, ([numbers(2), numbers(2)],), oracle=sum),
    Case(a.div, (listed([7, -7]), listed([2, 2])), oracle=np.floor_divide,
         dtypes=[dtypes.int32], gradient=False),
    Case(a.div, (numbers(2), nonzero(2)), oracle=np.divide),
    Case(a.truediv, (listed([7, -7], dtypes.int32), listed([2, 2], dtypes.int32)),
         oracle=np.divide),
    Case(a.truediv, (numbers(2, 3), nonzero(3)), oracle=np.divide),
    Case(a.scalar_mul, (2.5, numbers(2, 3)), oracle=np.multiply),
]  # fmt: skip
