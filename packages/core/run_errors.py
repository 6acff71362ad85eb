"""From native code's failures to the exceptions users see."""

from typing import TYPE_CHECKING, NoReturn

from qanat.core.errors import exception_type_from_error_code, located
from qanat.core.passes.step_graph import StepGraph

if TYPE_CHECKING:
    from qanat.core import _native


def raise_status(error: "_native.StatusError", step: StepGraph | None) -> NoReturn:
    """Raises the OpError of a status.

    Args:
        step: what was compiled, so that the message can name op, node and user line; or None.
    """
    kind = exception_type_from_error_code(error.code)
    if step is None or not 0 <= error.node < len(step):
        raise kind(error.message) from None
    node = list(step)[error.node]
    line = None if node.origin is None else node.origin.user_line
    message = located(error.message, node.op, node.name, line)
    raise kind(message, op=node.origin, node_name=node.name, user_line=line) from None
