"""Cases of elementwise functions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.testing.case import Case, Misuse, listed, numbers, specials
from qanat.ops import elementwise as e


def _everywhere(
    op: Any, oracle: Callable[..., Any], low: float = -2.0, high: float = 2.0,
    tolerance: float = 1.0
) -> list[Case]:
    """A function of one tensor: a matrix, a scalar, nothing, more than fits vectors, and special
    values.
    """
    tried = [
        Case(op, (numbers(*shape, low=low, high=high),), oracle=oracle, tolerance=tolerance)
        for shape in ((2, 3), (), (0, 3), (1037,))
    ]
    return [*tried, Case(op, (specials(),), oracle=oracle, gradient=False, tolerance=tolerance)]


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _erfc(x: Any) -> Any:
    return np.vectorize(math.erfc, otypes=[np.float64])(x)


def _sign(x: Any) -> Any:
    return np.where(np.isnan(x), x, np.sign(x))


_FUSED = [
    Case(e.tanh_grad, (numbers(3, 4), numbers(3, 4)), oracle=lambda y, dy: dy * (1 - y * y)),
    Case(e.sigmoid_grad, (numbers(3, 4), numbers(3, 4)), oracle=lambda y, dy: dy * y * (1 - y)),
    Case(
        e.sqrt_grad, (numbers(3, 4, low=0.5), numbers(3, 4)), oracle=lambda y, dy: 0.5 * dy / y
    ),
    Case(e.rsqrt_grad, (numbers(3, 4), numbers(3, 4)), oracle=lambda y, dy: -0.5 * dy * y**3),
    *(
        Case(op, (listed([0.0, np.inf, np.nan]), listed([0.0, 0.0, 0.0])), oracle=lambda y, dy: dy,
             gradient=False)
        for op in (e.sqrt_grad, e.rsqrt_grad)
    ),
    *(
        Case(op, (numbers(0, 3), numbers(0, 3)), oracle=lambda y, dy: dy,
             misuse=[Misuse((numbers(2), numbers(3)), r"shapes that agree, got \[2\] and \[3\]")])
        for op in (e.tanh_grad, e.sigmoid_grad, e.sqrt_grad, e.rsqrt_grad)
    ),
]  # fmt: skip

CASES = [
    *_everywhere(e.negative, lambda x: -x),
    *_everywhere(e.abs, np.abs),
    *_everywhere(e.sign, _sign),
    *_everywhere(e.exp, np.exp),
    *_everywhere(e.expm1, np.expm1),
    *_everywhere(e.log, np.log, low=0.1, high=9.0),
    *_everywhere(e.log1p, np.log1p, low=-0.9, high=9.0),
    *_everywhere(e.sqrt, np.sqrt, low=0.1, high=9.0),
    *_everywhere(e.cbrt, np.cbrt, low=0.2, high=4.0),
    *_everywhere(e.rsqrt, lambda x: 1 / np.sqrt(x), low=0.1, high=9.0),
    *_everywhere(e.square, lambda x: x * x),
    *_everywhere(e.reciprocal, lambda x: 1 / x, low=0.2, high=4.0),
    *_everywhere(e.sin, np.sin, tolerance=4.0)[:-1],
    *_everywhere(e.cos, np.cos, tolerance=4.0)[:-1],
    *_everywhere(e.tan, np.tan, low=-1.2, high=1.2, tolerance=4.0)[:-1],
    *_everywhere(e.asin, np.arcsin, low=-0.9, high=0.9),
    *_everywhere(e.acos, np.arccos, low=-0.9, high=0.9),
    *_everywhere(e.atan, np.arctan),
    *_everywhere(e.sinh, np.sinh),
    *_everywhere(e.cosh, np.cosh),
    *_everywhere(e.tanh, np.tanh),
    *_everywhere(e.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    *_everywhere(e.erf, _erf),
    *_everywhere(e.erfc, _erfc, tolerance=4.0),
    *_everywhere(e.floor, np.floor),
    *_everywhere(e.ceil, np.ceil),
    *_everywhere(e.round, np.round),
    *_everywhere(e.rint, np.round),
    *_everywhere(e.is_nan, np.isnan),
    *_everywhere(e.is_inf, np.isinf),
    *_everywhere(e.is_finite, np.isfinite),
    Case(e.round, (listed([0.5, 1.5, 2.5, -0.5, -1.5]),), oracle=np.round,
         dtypes=dtypes.FLOATING, gradient=False),
    Case(e.sin, (listed([100.0, -1000.0, 31415.0]),), oracle=np.sin, tolerance=16.0,
         dtypes=(dtypes.float32, dtypes.float64), gradient=False),
    Case(e.cos, (listed([100.0, -1000.0, 31415.0]),), oracle=np.cos, tolerance=16.0,
         dtypes=(dtypes.float32, dtypes.float64), gradient=False),
    Case(e.log_sigmoid, (numbers(3),), oracle=lambda x: -np.log1p(np.exp(-x))),
    *_FUSED,
]  # fmt: skip
