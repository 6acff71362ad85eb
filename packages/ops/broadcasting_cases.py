"""Cases of broadcasting."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import broadcasting as b


def _axes(s0: Any, s1: Any) -> Any:
    """For each shape the axes that are missing or of size 1."""
    rank = max(len(s0), len(s1))
    padded = [np.concatenate([np.ones(rank - len(s), s.dtype), s]) for s in (s0, s1)]
    missing = [rank - len(s) for s in (s0, s1)]
    return [
        [i for i in range(rank) if i < missing[k] or padded[k][i] == 1]
        for k in (0, 1)
    ]


CASES = [
    *(
        Case(b.broadcast_to, (numbers(*x), np.array(shape, np.int32)), oracle=np.broadcast_to)
        for x, shape in (
            ((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2, 2)), ((2, 3), (2, 3)), ((1, 3), (0, 3)),
            ((1, 4, 1), (3, 2, 4, 5)), ((), ()),
        )
    ),
    Case(b.broadcast_to, (numbers(3), np.array([2, 3], np.int64)), oracle=np.broadcast_to, misuse=[
        Misuse((numbers(2), [2, 3]), r"a shape that \[2\] broadcasts to, got \[2,3\]"),
        Misuse((numbers(2, 3), [3]), r"a shape that \[2,3\] broadcasts to, got \[3\]"),
        Misuse((numbers(2), listed([2, 3], dtypes.int32)), "broadcast", InvalidArgumentError),
    ]),
    *(
        Case(b.broadcast_gradient_args, (listed(s0), listed(s1)), oracle=_axes, exact=False,
             dtypes=dtypes.INDEX)
        for s0, s1 in (
            ([2, 3], [3]), ([2, 1], [1, 3]), ([2, 3], [2, 3]), ([4], [2, 1, 4]), ([1], [1]),
        )
    ),
    Case(b.broadcast_gradient_args, (listed([2]), listed([2])), oracle=_axes, exact=False,
         dtypes=[dtypes.int32],
         misuse=[Misuse((listed([2]), listed([3])), "broadcast", InvalidArgumentError,
                        dtype=dtypes.int32)]),
]  # fmt: skip
