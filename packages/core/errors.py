"""What goes wrong: one exception class a status code, and how a message says where it happened.

Every message about a node reads

    [MatMul] expected ..., got ... (node 'layer/MatMul', made at train.py:12)
"""

from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from qanat.core.operation import Operation

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
INVALID_ARGUMENT: Final = 3
DEADLINE_EXCEEDED: Final = 4
NOT_FOUND: Final = 5
ALREADY_EXISTS: Final = 6
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
FAILED_PRECONDITION: Final = 9
ABORTED: Final = 10
OUT_OF_RANGE: Final = 11
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14
DATA_LOSS: Final = 15
UNAUTHENTICATED: Final = 16


class ShapeError(ValueError):
    """Shapes do not fit each other, or what an op asks of them. Raised while a graph is built."""


class OpError(Exception):
    """A step failed. Subclasses name the reason, as gRPC's status codes do.

    Attributes:
        message: what went wrong, with the op, node and user line where they are known.
        code: the gRPC number of the status.
        op: the Operation that failed, or None.
        node_name: its name, or None; known even where the graph has no such Operation.
        user_line: "file:line" of the user's code that made it, or None.
    """

    code: int = UNKNOWN

    def __init__(
        self,
        message: str,
        *,
        op: "Operation | None" = None,
        node_name: str | None = None,
        user_line: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.node_name = op.name if node_name is None and op is not None else node_name
        self.user_line = op.user_line if user_line is None and op is not None else user_line

    @property
    def error_code(self) -> int:
        """TensorFlow's name of `code`."""
        return self.code


class CancelledError(OpError):
    """The step was cancelled: by its session's end, by the user, or because another part failed."""

    code = CANCELLED


class UnknownError(OpError):
    """No reason is known."""

    code = UNKNOWN


class InvalidArgumentError(OpError):
    """A value is not what the op accepts: a shape, an index, a label."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """The step's timeout was over before the step was."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """A file, a variable or another named thing does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something that was to be made exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """No memory, disk or quota is left."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the state the op needs: a variable has no value yet."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """A concurrent action got in the way; trying again may help."""

    code = ABORTED


class OutOfRangeError(OpError):
    """The end is reached: of a file, of a closed and empty queue."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """Nothing here can do that: there is no kernel for the op, device and dtypes."""

    code = UNIMPLEMENTED


class InternalError(OpError):
    """Qanat broke a promise to itself: please report it."""

    code = INTERNAL


class UnavailableError(OpError):
    """A task cannot be reached now; trying again later may help."""

    code = UNAVAILABLE


class DataLossError(OpError):
    """Stored data is lost or corrupt."""

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller did not prove who it is."""

    code = UNAUTHENTICATED


_BY_CODE: Final = {cls.code: cls for cls in OpError.__subclasses__()}


def exception_type_from_error_code(code: int) -> type[OpError]:
    """The class of a status code; `UnknownError` for codes that have none."""
    return _BY_CODE.get(code, UnknownError)


def located(
    message: str, op_type: str, node_name: str | None = None, user_line: str | None = None
) -> str:
    """The message with the op in front, the node's name and the user's line behind."""
    where = []
    if node_name:
        where.append(f"node '{node_name}'")
    if user_line:
        where.append(f"made at {user_line}")
    tail = f" ({', '.join(where)})" if where else ""
    return f"[{op_type}] {message}{tail}"


def raise_located(
    error: Exception, op_type: str, node_name: str | None, user_line: str | None
) -> NoReturn:
    """Raises a ShapeError, TypeError or ValueError again, saying which op, node and user line it is
    about."""
    kinds = (ShapeError, TypeError, ValueError)
    kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
    text = str(error) or "expected a node that fits into memory, got one that does not"
    raise kind(located(text, op_type, node_name, user_line)) from error
