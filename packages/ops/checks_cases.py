"""Cases of checks."""

from typing import Any

from qanat.core import dtypes
from qanat.core.base_ops import identity
from qanat.core.errors import InvalidArgumentError, ShapeError
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, bools, listed, numbers
from qanat.ops import checks as c


def _asserted(condition: Any, x: Any) -> Any:
    with control_dependencies([c.assert_op(condition, [x, "is not what", condition])]):
        return identity(x)


def _checked(check: Any) -> Any:
    def checked(x: Any, *others: Any) -> Any:
        with control_dependencies([check(x, *others)]):
            return identity(x)

    checked.__name__ = check.__name__
    return checked


TRUE, FALSE = listed(True, dtypes.bool_), listed(False, dtypes.bool_)


def _fails(*values: Any) -> Misuse:
    return Misuse(tuple(listed(value) for value in values), "", InvalidArgumentError)


CASES = [
    Case(_asserted, (TRUE, numbers(2, 3)), oracle=lambda condition, x: x, gradient=False,
         covers=["Assert"],
         misuse=[
        Misuse((FALSE, listed([1.0, 2.0, 3.0, 4.0])), "1.*2.*3", InvalidArgumentError),
        Misuse((bools(2), numbers(2)), "a scalar condition"),
    ]),
    *(
        Case(_checked(check), (listed(x), listed(y)), oracle=lambda x, y: x, gradient=False,
             misuse=[_fails([3.0, 1.0], fails)])
        for check, x, y, fails in (
            (c.assert_equal, [1.0, 2.0], [1.0, 2.0], [3.0, 2.0]),
            (c.assert_none_equal, [1.0, 2.0], [0.0], [1.0]),
            (c.assert_less, [1.0, 2.0], [3.0], [3.0]),
            (c.assert_less_equal, [1.0, 2.0], [2.0], [2.0]),
            (c.assert_greater, [1.0, 2.0], [0.0], [1.0]),
            (c.assert_greater_equal, [1.0, 2.0], [1.0], [2.0]),
        )
    ),
    *(
        Case(_checked(check), (listed([value]),), oracle=lambda x: x, gradient=False,
             misuse=[_fails([bad])])
        for check, value, bad in (
            (c.assert_positive, 1.0, 0.0), (c.assert_negative, -1.0, 0.0),
            (c.assert_non_negative, 0.0, -1.0), (c.assert_non_positive, 0.0, 1.0),
        )
    ),
    Case(_checked(c.assert_rank), (numbers(2, 3), 2), oracle=lambda x, rank: x, gradient=False,
         misuse=[Misuse((numbers(2), 2), "rank 2", ShapeError)]),
]  # fmt: skip
