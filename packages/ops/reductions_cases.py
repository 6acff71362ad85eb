"""Cases of reductions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Input, Misuse, bools, distinct, listed, numbers
from qanat.ops import reductions as r

FORMS: list[tuple[tuple[int, ...], Any, bool]] = [
    ((3, 4), [0], False),
    ((3, 4), [1], False),
    ((3, 4), [-1], True),
    ((3, 4), [0, 1], False),
    ((3, 4), [], False),
    ((2, 3, 4), [1], False),
    ((2, 3, 4), [0, 2], False),
    ((2, 3, 4), [0, 2], True),
    ((2, 3, 4), 1, False),
    ((), [], False),
    ((1,), [0], False),
    ((5, 301), [1], False),
    ((301, 5), [0], False),
    ((3, 7, 17), [2, 0], False),
]


def _by_numpy(function: Callable[..., Any], keep: bool) -> Callable[..., Any]:
    return lambda x, axes: function(x, axis=tuple(np.atleast_1d(axes)), keepdims=keep)


def _sum(x: Any, **how: Any) -> Any:
    return np.sum(x, dtype=x.dtype, **how)


def _prod(x: Any, **how: Any) -> Any:
    return np.prod(x, dtype=x.dtype, **how)


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    """Integers: the quotient of the wrapped sum, cut towards 0."""
    if x.dtype.kind == "f":
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    count = max(int(np.prod([x.shape[i] for i in axis])), 1)
    return np.trunc(total / count).astype(x.dtype)


def _reduced(
    op: Any, function: Callable[..., Any], make: Callable[..., Input], tolerance: float = 1.0
) -> list[Case]:
    return [
        Case(op, (make(*shape), np.array(axes, np.int32)), {"keep_dims": keep},
             oracle=_by_numpy(function, keep), tolerance=tolerance)
        for shape, axes, keep in FORMS
    ]  # fmt: skip


def _over_nothing(op: Any, neutral: Callable[[DType], Any]) -> list[Case]:
    """Over an empty axis; and of no rows at all."""

    def case(dtype: DType) -> Case:
        return Case(op, (numbers(2, 0), [1]), oracle=lambda x, axes: np.full(2, neutral(dtype)),
                    dtypes=[dtype], gradient=False)  # fmt: skip

    kinds = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
    nothing = Case(op, (numbers(0, 3), [1]), oracle=lambda x, axes: np.zeros(0))
    return [*(case(dtype) for dtype in kinds), nothing]


AXES = [
    Misuse((numbers(2, 3), [2]), r"axis in \[-2, 2\), got 2"),
    Misuse((numbers(2, 3), [[0]]), "axes as a scalar or a vector"),
    Misuse((numbers(2, 3), listed([5], dtypes.int32)), "axis", InvalidArgumentError),
]

_MISUSES = [
    Case(op, (numbers(2, 3), [0]), misuse=AXES)
    for op in (r.sum, r.mean, r.max_op, r.min_op, r.prod)
]


def _limit(low: bool) -> Callable[[DType], Any]:
    def limit(dtype: DType) -> Any:
        if dtype.is_floating:
            return -np.inf if low else np.inf
        return dtype.min if low else dtype.max

    return limit


def _logsumexp(x: Any, axis: Any = None) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis))


NAN = np.nan
_PROPAGATES = [
    Case(op, (listed([[1.0, NAN, 2.0], [3.0, 4.0, 5.0]]), [1]), dtypes=dtypes.FLOATING,
         oracle=lambda x, axes, f=function: f(x, axis=1), gradient=False)
    for op, function in ((r.max_op, np.max), (r.min_op, np.min), (r.sum, np.sum))
]  # fmt: skip

_BOOLS = [
    Case(op, (bools(*shape), np.array(axes, np.int32)), {"keep_dims": keep},
         oracle=_by_numpy(function, keep))
    for op, function in ((r.all_op, np.all), (r.any_op, np.any))
    for shape, axes, keep in [*FORMS, ((2, 0), [1], False)]
]  # fmt: skip

_POSITIONS = [
    Case(op, (distinct(*shape), axis), {"output_type": dtype},
         oracle=lambda x, axis, f=function: f(x, axis=axis), gradient=False,
         misuse=[Misuse((numbers(2, 3), 2), r"dimension in \[-2, 2\)"),
                 Misuse((numbers(2, 0), 1), "at least one element"),
                 Misuse((numbers(), 0), "rank 1 or more")])
    for op, function in ((r.argmax_op, np.argmax), (r.argmin_op, np.argmin))
    for shape, axis in (((5,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), -2), ((0, 3), 1),
                        ((2, 61), 1))
    for dtype in (dtypes.int32, dtypes.int64)
]  # fmt: skip

_FIRST_OF_TIES = [
    Case(op, (listed([[1.0, 3.0, 3.0, 1.0], [NAN, 5.0, NAN, 0.0]]), 1),
         oracle=lambda x, axis, f=function: f(x, axis=axis), dtypes=dtypes.FLOATING, gradient=False)
    for op, function in ((r.argmax_op, np.argmax), (r.argmin_op, np.argmin))
]  # fmt: skip

_COMPOSED = [
    Case(r.reduce_sum, (numbers(2, 3),), oracle=np.sum),
    Case(r.reduce_sum, (numbers(2, 3),), {"axis": -1, "keepdims": True},
         oracle=lambda x: x.sum(-1, keepdims=True)),
    Case(r.reduce_mean, (numbers(2, 3),), {"reduction_indices": [0]}, oracle=lambda x: x.mean(0)),
    Case(r.reduce_max, (distinct(2, 3),), {"axis": 1}, oracle=lambda x: x.max(1)),
    Case(r.reduce_max, (listed([[1.0, 2.0, 2.0]]),), {"axis": 1}, oracle=lambda x: x.max(1),
         gradient=False),
    Case(r.reduce_min, (distinct(2, 3),), {"axis": 1}, oracle=lambda x: x.min(1)),
    Case(r.reduce_prod, (numbers(2, 3),), {"axis": 1}, oracle=lambda x: x.prod(1)),
    Case(r.reduce_prod, (listed([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]]),), {"axis": 1},
         oracle=lambda x: x.prod(1), second_order=False),
    Case(r.reduce_all, (bools(2, 3),), {"axis": 1}, oracle=lambda x: x.all(1)),
    Case(r.reduce_any, (bools(2, 3),), {"axis": 1}, oracle=lambda x: x.any(1)),
    Case(r.reduce_logsumexp, (numbers(2, 3),), oracle=_logsumexp),
    Case(r.reduce_logsumexp, (numbers(2, 3),), {"axis": [1]}, oracle=lambda x: _logsumexp(x, 1)),
    Case(r.reduce_logsumexp, (listed([1000.0, 1000.0]),), oracle=lambda x: 1000 + np.log(2.0)),
    Case(r.count_nonzero, (listed([[0.0, 1.0], [2.0, 3.0]]),), {"axis": 0},
         oracle=lambda x: np.count_nonzero(x, axis=0)),
    Case(r.argmax, (distinct(3, 4),), {"axis": 1}, oracle=lambda x: x.argmax(1), gradient=False),
    Case(r.argmin, (distinct(3, 4),), oracle=lambda x: x.argmin(0), gradient=False),
]  # fmt: skip


def _near_one(*shape: int) -> Input:
    return numbers(*shape, low=0.9, high=1.1)


CASES = [
    *_reduced(r.sum, _sum, numbers, tolerance=30.0),
    *_reduced(r.mean, _mean, numbers, tolerance=30.0),
    *_reduced(r.max_op, np.max, distinct),
    *_reduced(r.min_op, np.min, distinct),
    *_reduced(r.prod, _prod, _near_one, tolerance=300.0),
    *_over_nothing(r.sum, lambda dtype: 0),
    *_over_nothing(r.prod, lambda dtype: 1),
    *_over_nothing(r.max_op, _limit(low=True)),
    *_over_nothing(r.min_op, _limit(low=False)),
    Case(r.mean, (numbers(2, 0), [1]), oracle=lambda x, axes: np.full(2, NAN),
         dtypes=dtypes.FLOATING, gradient=False),
    *_MISUSES,
    *_PROPAGATES,
    *_BOOLS,
    *_POSITIONS,
    *_FIRST_OF_TIES,
    *_COMPOSED,
]  # fmt: skip
