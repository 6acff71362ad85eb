"""From native code's failures to the exceptions users see."""

from typing import TYPE_CHECKING, NoReturn

from qanat.core.errors import exception_type_from_error_code, located
from qanat.core.operation import Operation
from qanat.core.passes.step_graph import StepGraph, StepGraphs

if TYPE_CHECKING:
    from qanat.core import _native


def raise_status(error: "_native.StatusError", step: StepGraph | StepGraphs | None) -> NoReturn:
    """Raises the OpError of a status.

    Args:
        step: what was compiled, so that the message can name op, node and user line; or None.
    """
    kind = exception_type_from_error_code(error.code)
    if step is None or not 0 <= error.node < len(step):
        raise kind(error.message) from None
    node = list(step)[error.node]
    line = None if node.origin is None else node.origin.user_line
    text = error.message + _surroundings(node.origin) + _resources(node.origin, line)
    message = located(text, node.op, node.name, line)
    raise kind(message, op=node.origin, node_name=node.name, user_line=line) from None


def _surroundings(op: Operation | None) -> str:
    """The branch or loop that an operation is in."""
    if op is None or op.control_flow is None:
        return ""
    return f"; it is in {op.control_flow.where}"


def _resources(op: Operation | None, line: str | None) -> str:
    """Where the variables and other resources that an operation uses were made, if elsewhere."""
    used = [output.op for output in op.inputs if output.dtype.kind == "R"] if op else []
    return "".join(
        f"; '{resource.name}' was made at {resource.user_line}"
        for resource in used
        if resource.user_line not in (None, line)
    )
