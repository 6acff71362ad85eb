"""Cases of ops on shapes."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import shaping as s


def _first(x: Any, *_: Any) -> Any:
    return x


def _prevented(x: Any) -> Any:
    return s.prevent_gradient(x, message="not here")


SHAPES = ((2, 3), (), (0, 3), (5,))

CASES = [
    *(
        Case(s.reshape, (numbers(*x), shape), oracle=lambda x, shape: x.reshape(shape))
        for x, shape in (
            ((2, 3), [3, 2]), ((2, 3), [-1]), ((2, 3), [2, -1, 1]), ((), [1, 1]),
            ((1,), np.zeros(0, np.int32)),
            ((0, 3), [3, 0]), ((0, 3), [0, -1, 1]), ((2, 3, 4), [6, 4]),
        ) if 0 not in x or -1 not in list(shape)
    ),
    Case(s.reshape, (numbers(2, 3), np.array([3, 2], np.int64)),
         oracle=lambda x, shape: x.reshape(shape), misuse=[
        Misuse((numbers(2, 3), [4]), "a shape of 6 elements, got"),
        Misuse((numbers(2, 3), [-1, 4]), "a shape of 6 elements, got"),
        Misuse((numbers(2, 3), [-1, -1]), "at most one -1"),
        Misuse((numbers(2, 3), [-2, 3]), "at most one -1"),
        Misuse((numbers(2, 3), [[6]]), "shape of rank 1"),
        Misuse((numbers(0, 3), [0, -1]), "a shape of 0 elements"),
        Misuse((numbers(2, 3), [2**31, 2**31, 2**31]), "elements"),
        Misuse((numbers(2, 3), listed([4], dtypes.int32)), "6 elements", InvalidArgumentError),
        Misuse((numbers(2, 3), listed([-1, -1], dtypes.int32)), "-1", InvalidArgumentError),
    ]),
    *(
        Case(s.expand_dims_op, (numbers(*shape), axis), oracle=np.expand_dims, misuse=[
            Misuse((numbers(2), 2), r"axis in \[-2, 2\), got 2"),
            Misuse((numbers(2), -3), r"axis in \[-2, 2\), got -3"),
            Misuse((numbers(2), [0, 1]), "a scalar dim"),
        ])
        for shape, axis in (((2, 3), 0), ((2, 3), 1), ((2, 3), -1), ((), 0), ((0, 3), -3))
    ),
    Case(s.expand_dims, (numbers(2),), {"dim": 0}, oracle=lambda x: x[None]),
    *(
        Case(s.squeeze_op, (numbers(*shape),), {"squeeze_dims": axes},
             oracle=lambda x, axes=axes: np.squeeze(x, tuple(axes) if axes else None),
             misuse=[Misuse((numbers(2, 2),), "dimension 0 to be 1", attrs={"squeeze_dims": [0]}),
                     Misuse((numbers(1),), "axis in", attrs={"squeeze_dims": [1]})])
        for shape, axes in (((1, 3, 1), []), ((1, 3, 1), [0]), ((1, 3, 1), [-1, 0]), ((0, 1), [1]),
                            ((), []))
    ),
    Case(s.squeeze, (numbers(1, 3),), {"axis": 0}, oracle=lambda x: x[0]),
    *(Case(s.shape_op, (numbers(*shape),), {"out_type": dtype}, oracle=np.shape)
      for shape in SHAPES for dtype in (dtypes.int32, dtypes.int64)),
    Case(s.shape_n, ([numbers(2, 3), numbers(4)],), oracle=lambda xs: [x.shape for x in xs]),
    *(Case(s.rank, (numbers(*shape),), oracle=np.ndim) for shape in SHAPES),
    *(Case(s.size_op, (numbers(*shape),), {"out_type": dtype}, oracle=np.size)
      for shape in SHAPES for dtype in (dtypes.int32, dtypes.int64)),
    *(
        Case(s.fill, (np.array(shape, np.int32), numbers()), oracle=np.full,
             misuse=[Misuse(([2], numbers(1)), "a scalar value"),
                     Misuse(([-2], numbers()), "0 or more"),
                     Misuse((2, numbers()), "dims of rank 1"),
                     Misuse((listed([-2], dtypes.int32), numbers()), "", InvalidArgumentError)])
        for shape in SHAPES
    ),
    *(Case(s.zeros_like_op, (numbers(*shape),), gradient=False,
           dtypes=dtypes.NUMERIC | {dtypes.bool_},
           oracle=np.zeros_like) for shape in SHAPES),
    *(Case(s.ones_like_op, (numbers(*shape),), gradient=False, oracle=np.ones_like)
      for shape in SHAPES),
    Case(s.zeros_like, (numbers(2, 3),), {"dtype": dtypes.int32}, oracle=np.zeros_like),
    Case(s.ones_like, (numbers(2, 3),), oracle=np.ones_like),
    Case(s.zeros, ([2, 3],), oracle=np.zeros),
    Case(s.ones, ([2, 3], dtypes.int64), oracle=lambda shape, _: np.ones(shape)),
    *(Case(s.stop_gradient, (numbers(*shape),), oracle=_first, gradient=False) for shape in SHAPES),
    Case(s.prevent_gradient, (numbers(2, 3),), oracle=_first, gradient=False),
    Case(_prevented, (numbers(2, 3),), oracle=_first, gradient=False),
    Case(s.identity_n, ([numbers(2, 3), numbers(3)],), oracle=lambda xs: xs,
         dtypes=[dtypes.float32, dtypes.float64]),
]  # fmt: skip
