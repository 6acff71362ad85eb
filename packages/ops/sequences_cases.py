"""Cases of sequences."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed
from qanat.ops import sequences as s


def _range(*bounds: Any) -> Any:
    return np.arange(*(np.asarray(bound).item() for bound in bounds))


NUMBERS = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)

CASES = [
    *(
        Case(s.range_op, tuple(listed(bound) for bound in bounds), oracle=_range, exact=False,
             dtypes=NUMBERS, gradient=False)
        for bounds in ((0, 5, 1), (2, 10, 3), (10, 0, -3), (0, 0, 1), (5, 0, 1), (0, 1000, 7))
    ),
    Case(s.range_op, (0.0, 1.0, 0.25), oracle=_range, misuse=[
        Misuse((0, 5, 0), "a delta other than 0"),
        Misuse(([0], 5, 1), "a scalar start"),
        Misuse((0.0, np.float32(np.inf), 1.0), "finite"),
        Misuse((listed(0), listed(5), listed(0)), "delta", InvalidArgumentError,
               dtype=dtypes.int32),
    ]),
    Case(s.range, (5,), oracle=_range),
    Case(s.range, (1, 6, 2), {"dtype": dtypes.float64}, oracle=_range),
    Case(s.range, (2, 2.5, 0.25), oracle=_range),
    Case(s.lin_space, (1.0, 3.0, 5), oracle=np.linspace, tolerance=2.0),
    Case(s.lin_space, (1.0, 3.0, 1), oracle=np.linspace),
]  # fmt: skip
