"""Cases of stacks."""

from typing import Any

from qanat.core import dtypes
from qanat.core.errors import FailedPreconditionError, ResourceExhaustedError
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops import stacks as s


def _last_first(x: Any, y: Any, pops: int = 2, max_size: int = -1) -> Any:
    """What comes off a stack that x and then y were put on."""
    handle = s.stack_v2(max_size, elem_type=x.dtype)
    first = s.stack_push_v2(handle, x)
    with control_dependencies([first]):
        last = s.stack_push_v2(handle, y)
    results = []
    for _ in range(pops):
        with control_dependencies([last]):
            last = s.stack_pop_v2(handle, elem_type=x.dtype)
        results.append(last)
    return results


def _closed(x: Any) -> Any:
    """What comes off a stack that was closed: nothing."""
    handle = s.stack_v2(-1, elem_type=x.dtype)
    with control_dependencies([s.stack_push_v2(handle, x)]):
        close = s.stack_close_v2(handle)
    with control_dependencies([close]):
        again = s.stack_push_v2(handle, x)
    with control_dependencies([again]):
        return s.stack_pop_v2(handle, elem_type=x.dtype)


VALUES = dtypes.NUMERIC | {dtypes.bool_, dtypes.string}

CASES = [
    *(
        Case(_last_first, (numbers(*shape), numbers(3)), oracle=lambda x, y: [y, x], dtypes=VALUES,
             gradient=False, exact=False, covers=["StackV2", "StackPushV2", "StackPopV2"],
             misuse=[
                 Misuse((numbers(2), numbers(2)), "an element on stack", FailedPreconditionError,
                        attrs={"pops": 3}),
                 Misuse((numbers(2), numbers(2)), "at most 1 elements", ResourceExhaustedError,
                        attrs={"max_size": 1}),
             ])
        for shape in ((2, 3), (), (0, 3))
    ),
    Case(_closed, (numbers(2),), oracle=lambda x: x, gradient=False, exact=False,
         covers=["StackCloseV2"]),
]  # fmt: skip
