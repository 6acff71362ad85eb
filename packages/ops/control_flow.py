"""What branches and loops are made of: tokens that may be dead, and frames that run again and
again.

`qanat.control_flow` builds `cond`, `while_loop` and their like out of these. Values flow as tokens;
a dead one tells that its branch is not taken, and a node that gets one does not run but passes it
on. Source: Yu et al., "Dynamic control flow in large-scale machine learning" (EuroSys 2018),
section 4.
"""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, Handle, In, Role, Shapes, op
from qanat.core.shapes import SCALAR, UNKNOWN, TensorShape
from qanat.core.signature import static_value

T = Annotated[In, "T"]
Values = Annotated[list[In], "N * T"]
Bool = Annotated[In, "bool"]


def _same(data: In) -> TensorShape | Handle:
    return data.handle or data.shape


def _require_scalar(predicate: In) -> None:
    if not predicate.shape.is_compatible_with(SCALAR):
        raise ShapeError(f"expected a scalar predicate, got shape {predicate.shape}")


@op("Switch", outputs="output_false: T, output_true: T", role=Role.SWITCH, T=dtypes.ALL)
def switch(data: T, pred: Bool) -> Shapes:
    """Sends `data` to one of two outputs; the other one is dead.

    Args:
        data: of any type and shape.
        pred: a scalar.

    Returns:
        (alive where pred is false, alive where pred is true), each `data`.
    """
    _require_scalar(pred)
    return [_same(data), _same(data)]


@switch.static_value
def _(data: In, pred: In) -> object:
    return static_value(data.output)


@switch.gradient
def _(op: Operation, false: Output | None, true: Output | None) -> Grads:
    """Of a value that a branch takes in, seen from within the branch."""
    return [true if false is None else false, None]


@op("Merge", outputs="output: T, value_index: int32", role=Role.MERGE, T=dtypes.ALL)
def merge(inputs: Values) -> Shapes:
    """Gives on the first live value of several, and is dead if all are.

    Args:
        inputs: of one type. None may be a constant or a fed value: those are never dead.

    Returns:
        (the value, which input it is: a scalar)
    """
    first = inputs[0].handle
    if first is not None and all(value.handle == first for value in inputs):
        return [first, SCALAR]
    return [common_shape([value.shape for value in inputs]), SCALAR]


def common_shape(shapes: list[TensorShape]) -> TensorShape:
    """What is known of a shape that may be any of these."""
    ranks = {shape.rank for shape in shapes}
    if len(ranks) > 1 or None in ranks:
        return UNKNOWN
    sizes = zip(*[shape.dims or () for shape in shapes], strict=True)
    return TensorShape(tuple(size[0] if len(set(size)) == 1 else None for size in sizes))


@op("Enter", outputs="output: T", role=Role.ENTER, T=dtypes.ALL)
def enter(
    data: T, *, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10
) -> Shapes:
    """Brings a value into a loop: to its first iteration, or to all.

    Args:
        data: of any type and shape.
        frame_name: of the loop; all values of a loop enter by the same name.
        is_constant: whether every iteration gets it. If not, the shape is not known: the
            iterations to come may change it.
        parallel_iterations: how many iterations may be under way at once.
    """
    if parallel_iterations < 1:
        raise ValueError(f"expected parallel_iterations of at least 1, got {parallel_iterations}")
    if data.dtype is dtypes.resource:
        return [_same(data)]
    return [data.shape if is_constant else UNKNOWN]


@enter.static_value
def _(data: In, *, frame_name: str, is_constant: bool, parallel_iterations: int) -> object:
    return static_value(data.output) if is_constant else None


@enter.gradient
def _(op: Operation, grad: Output) -> Grads:
    """Of a value that a loop takes in, seen from within an iteration."""
    return [grad]


@op("Exit", outputs="output: T", role=Role.EXIT, T=dtypes.ALL)
def exit_op(data: T) -> Shapes:
    """Brings a value out of a loop: the only one that is alive, that of the last iteration."""
    return [_same(data)]


@op("NextIteration", outputs="output: T", role=Role.NEXT_ITERATION, T=dtypes.ALL)
def next_iteration(data: T) -> Shapes:
    """Brings a live value to the next iteration of its loop."""
    return [_same(data)]


@op("LoopCond", outputs="output: bool", role=Role.LOOP_COND, differentiable=False)
def loop_cond(input: Bool) -> Shapes:
    """The predicate that decides whether a loop goes on: `input`."""
    _require_scalar(input)
    return [SCALAR]


@op("ControlTrigger", outputs="", role=Role.CONTROL_TRIGGER, differentiable=False)
def control_trigger() -> Shapes:
    """Does nothing, after all that it waits for, whether dead or alive."""
    return []
