"""Stacks of a step: what a loop leaves for a later one that runs the other way round.

A stack ends with its last handle, at the latest with the step. Whoever pushes and pops orders both
by control edges.
"""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.op_def import In, Shapes, op
from qanat.core.shapes import SCALAR, UNKNOWN
from qanat.ops.shape_functions import require_scalar

Resource = Annotated[In, "resource"]


@op("StackV2", outputs="handle: resource", stateful=True, differentiable=False)
def stack_v2(max_size: Annotated[In, "int32"], *, elem_type: DType, stack_name: str = "") -> Shapes:
    """A new, empty stack.

    Args:
        max_size: a scalar; how many elements it may hold, -1 for any number.
        elem_type: of its elements.
        stack_name: for messages.
    """
    require_scalar(max_size, "max_size")
    return [SCALAR]


@op("StackPushV2", outputs="output: T", stateful=True, T=dtypes.ALL)
def stack_push_v2(
    handle: Resource, elem: Annotated[In, "T"], *, swap_memory: bool = False
) -> Shapes:
    """Puts `elem` on the stack; gives it on.

    A resource-exhausted error of the step where the stack is full. `swap_memory` has no effect on
    CPUs.
    """
    return [elem.handle or elem.shape]


@op("StackPopV2", outputs="elem: elem_type", stateful=True, elem_type=dtypes.ALL)
def stack_pop_v2(handle: Resource, *, elem_type: DType) -> Shapes:
    """Takes off what was pushed last. A failed-precondition error of the step where the stack is
    empty."""
    return [UNKNOWN if elem_type is not dtypes.resource else SCALAR]


@op("StackCloseV2", outputs="", stateful=True, differentiable=False)
def stack_close_v2(handle: Resource) -> Shapes:
    """Drops all elements of the stack."""
    return []
