"""Cases of what branches and loops are made of: an op that makes sense in a loop alone is tried in
the smallest loop there is."""

from typing import Any

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, bools, numbers
from qanat.ops import comparison
from qanat.ops import control_flow as c


def _switched(x: Any, p: Any) -> Any:
    """x, through the branch that p chooses, and which one it was."""
    false, true = c.switch(x, p)
    return c.merge([identity(false), identity(true)])


def _looped(x: Any) -> Any:
    """x after three iterations that leave it as it is, and how many there were."""
    limit = c.enter(constant(3), frame_name="loop", is_constant=True)
    entered = [c.enter(v, frame_name="loop") for v in (constant(0), x)]
    counter, value = (c.merge([v, v])[0] for v in entered)
    goes_on = c.loop_cond(comparison.less(counter, limit))
    (count, counting), (result, inside) = (c.switch(v, goes_on) for v in (counter, value))
    one = c.enter(constant(1), frame_name="loop", is_constant=True)
    counter.op._update_input(1, c.next_iteration(counting + one))
    value.op._update_input(1, c.next_iteration(identity(inside)))
    return c.exit_op(result), c.exit_op(count)


def _triggered(x: Any, p: Any) -> Any:
    """x, once both branches are done with."""
    false, true = c.switch(x, p)
    with control_dependencies([identity(false), identity(true)]):
        trigger = c.control_trigger()
    with control_dependencies([trigger]):
        return identity(x)


VALUES = dtypes.NUMERIC | {dtypes.bool_, dtypes.string}

CASES = [
    *(
        Case(_switched, (numbers(*shape), bools()), oracle=lambda x, p: [x, int(p)], dtypes=VALUES,
             gradient=False, covers=["Switch", "Merge"],
             misuse=[Misuse((numbers(2), bools(2)), "scalar predicate")])
        for shape in ((2, 3), (), (0, 3))
    ),
    *(
        Case(_looped, (numbers(*shape),), oracle=lambda x: [x, 3], dtypes=VALUES, gradient=False,
             exact=False, covers=["Enter", "LoopCond", "NextIteration", "Exit"])
        for shape in ((2, 3), ())
    ),
    Case(_triggered, (numbers(2), bools()), oracle=lambda x, p: x, gradient=False,
         covers=["ControlTrigger"]),
]  # fmt: skip
