"""Cases of comparisons, logic and choice."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.testing.case import Case, Misuse, bools, listed, numbers
from qanat.ops import comparison as c

NAN = np.nan
PAIRS = [((2, 3), (2, 3)), ((2, 1), (3,)), ((), (4,)), ((0, 3), (3,)), ((1037,), (1037,))]
DISAGREE = Misuse((numbers(2, 3), numbers(2, 4)), r"\[2,3\].*\[2,4\]")

_COMPARISONS = [
    (c.equal, np.equal),
    (c.not_equal, np.not_equal),
    (c.less, np.less),
    (c.less_equal, np.less_equal),
    (c.greater, np.greater),
    (c.greater_equal, np.greater_equal),
]


def _select(condition: Any, t: Any, e: Any) -> Any:
    shape = condition.shape + (1,) * (t.ndim - condition.ndim)
    return np.where(condition.reshape(shape), t, e)


CASES = [
    *(
        Case(op, (numbers(*x), numbers(*y)), oracle=oracle, misuse=[DISAGREE])
        for op, oracle in _COMPARISONS
        for x, y in PAIRS
    ),
    *(
        Case(op, (listed([1.0, NAN, NAN, 2.0]), listed([NAN, 1.0, NAN, 2.0])), oracle=oracle,
             dtypes=dtypes.FLOATING)
        for op, oracle in _COMPARISONS
    ),
    *(
        Case(op, (bools(*x), bools(*y)), oracle=oracle,
             misuse=[Misuse((bools(2), bools(3)), r"\[2\].*\[3\]")])
        for op, oracle in ((c.logical_and, np.logical_and), (c.logical_or, np.logical_or))
        for x, y in PAIRS
    ),
    *(Case(c.logical_not, (bools(*shape),), oracle=np.logical_not) for shape in ((2, 3), (), (0,))),
    Case(c.logical_xor, (bools(2, 3), bools(3)), oracle=np.logical_xor),
    *(
        Case(c.select, (bools(*condition), numbers(*shape), numbers(*shape)), oracle=_select)
        for condition, shape in (
            ((2, 3), (2, 3)), ((), (2, 3)), ((2,), (2, 3)), ((2,), (2, 3, 2)), ((), ()),
            ((0, 3), (0, 3)), ((0,), (0, 3)), ((1037,), (1037,)),
        )
    ),
    Case(c.select, (bools(2), numbers(2), numbers(2)), oracle=_select, misuse=[
        Misuse((bools(2), numbers(2), numbers(3)), "shapes that agree"),
        Misuse((bools(3), numbers(2, 4), numbers(2, 4)),
               "condition's length and the number of rows"),
        Misuse((bools(2, 3), numbers(2, 3, 4), numbers(2, 3, 4)), "condition of shape"),
    ]),
    Case(c.where, (bools(2, 3), numbers(2, 3), numbers(2, 3)), oracle=np.where),
    Case(c.clip_by_value, (numbers(3, 4), -0.5, 1.0), oracle=np.clip),
]  # fmt: skip
