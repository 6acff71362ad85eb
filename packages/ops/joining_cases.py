"""Cases of joins and splits."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import joining as j


def _parts(x: Any, sizes: Any, axis: Any) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


CASES = [
    *(
        Case(j.concat_v2, ([numbers(*shape) for shape in shapes], axis), oracle=np.concatenate)
        for shapes, axis in (
            (((2, 3), (1, 3)), 0), (((2, 3), (2, 1), (2, 2)), 1), (((2, 3), (2, 1)), -1),
            (((2,),), 0),
            (((0, 3), (2, 3)), 0), (((0, 3), (0, 3)), 0), (((2, 2, 3), (2, 5, 3)), 1),
        )
    ),
    Case(j.concat_v2, ([numbers(2), numbers(2)], np.array(0, np.int64)), oracle=np.concatenate,
         misuse=[
        Misuse(([numbers(2, 3), numbers(2, 4)], 0), "shapes that agree"),
        Misuse(([numbers(2, 3), numbers(2)], 0), "the ranks of values"),
        Misuse(([numbers(), numbers()], 0), "rank 1 or more, got a scalar"),
        Misuse(([numbers(2), numbers(2)], 1), r"axis in \[-1, 1\)"),
        Misuse(([numbers(2), numbers(2)], listed(3, dtypes.int32)), "axis", InvalidArgumentError),
    ]),
    Case(j.concat, ([numbers(2), numbers(1)], 0), oracle=np.concatenate),
    *(
        Case(j.pack, ([numbers(*shape)] * count,), {"axis": axis},
             oracle=lambda xs, axis=axis: np.stack(xs, axis), misuse=[
                Misuse(([numbers(2), numbers(3)],), "shapes that agree"),
                Misuse(([numbers(2), numbers(2)],), r"axis in \[-2, 2\)", attrs={"axis": 2}),
            ])
        for shape, count, axis in (((2, 3), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, -1), ((), 4, 0),
                                   ((0, 3), 2, 1),
                                   ((2,), 1, 0))
    ),
    Case(j.stack, ([numbers(2), numbers(2)],), {"axis": 1}, oracle=lambda xs: np.stack(xs, 1)),
    *(
        Case(j.unpack, (numbers(*shape),), {"num": shape[axis], "axis": axis},
             oracle=lambda x, axis=axis: list(np.moveaxis(x, axis, 0)), misuse=[
                Misuse((numbers(2, 3),), "dimension 0 and num", attrs={"num": 5, "axis": 0}),
                Misuse((numbers(2, 3),), r"axis in \[-2, 2\)", attrs={"axis": 2}),
            ])
        for shape, axis in (((2, 3), 0), ((2, 3), 1), ((2, 3, 2), -1), ((3,), 0), ((2, 0), 0))
    ),
    Case(j.unstack, (numbers(2, 3),), oracle=list, needs="sizes"),
    *(
        Case(j.split_op, (axis, numbers(*shape)), {"num_split": count},
             oracle=lambda axis, x, count=count: np.split(x, count, axis), misuse=[
                Misuse((0, numbers(3)), "a dimension that 2 divides, got 3",
                       attrs={"num_split": 2}),
                Misuse((0, numbers(3)), "num_split of 1 or more", attrs={"num_split": 0}),
                Misuse((1, numbers(3)), r"split_dim in \[-1, 1\)"),
            ])
        for axis, shape, count in ((0, (4, 3), 2), (1, (2, 6), 3), (-1, (2, 6), 1), (0, (0, 3), 2),
                                   (1, (2, 4, 3), 2))
    ),
    *(
        Case(j.split_v, (numbers(*shape), np.array(sizes, kind), axis), {"num_split": len(sizes)},
             oracle=_parts, misuse=[
                Misuse((numbers(4), [1, 2], 0), "sizes that add up to 4", attrs={"num_split": 2}),
                Misuse((numbers(4), [-1, -1], 0), "at most one -1", attrs={"num_split": 2}),
                Misuse((numbers(4), [4], 0), "size_splits' length and num_split",
                       attrs={"num_split": 2}),
                Misuse((numbers(4), listed([1, 2], dtypes.int32), 0), "size", InvalidArgumentError,
                       attrs={"num_split": 2}),
            ])
        for shape, sizes, axis, kind in (
            ((5, 3), [2, 3], 0, np.int32), ((2, 6), [1, 2, 3], 1, np.int64),
            ((2, 3), [3], -1, np.int64),
            ((4,), [0, 4], 0, np.int32), ((2, 4, 3), [1, 3], 1, np.int32),
        )
    ),
    Case(j.split_v, (numbers(5, 2), np.array([2, -1], np.int32), 0), {"num_split": 2},
         oracle=lambda x, sizes, axis: [x[:2], x[2:]]),
    Case(j.split, (numbers(4, 2), 2), oracle=lambda x, n: np.split(x, n)),
    Case(j.split, (numbers(4, 2), [1, 3]), oracle=lambda x, sizes: _parts(x, sizes, 0)),
]  # fmt: skip
