"""Kernels written in Python, for ops that run seldom: summaries, checkpoints, a user's own.

    @python_kernel("MatrixRank")
    def _(matrix: Array, *, tolerance: float) -> Array: ...

Such a kernel belongs to the CPU of this process. The interpreter's lock is taken around the call
and nowhere else, and an exception is the failure of the node. A phone has none of them.
"""

import errno
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from qanat.core import errors
from qanat.core.constants import describe
from qanat.core.dtypes import DType, string
from qanat.core.errors import OpError
from qanat.core.shapes import UNKNOWN, TensorShape
from qanat.core.signature import OpDef, lookup

if TYPE_CHECKING:
    from qanat.core import _native

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["python_kernel"]

_functions: Final[dict[str, list[tuple[Mapping[str, DType], Callable[..., Any]]]]] = {}


def python_kernel(
    op: str, *, types: Mapping[str, DType] | None = None, expensive: bool = False
) -> Callable[[F], F]:
    """Decorator: the function is the kernel of an op on the CPU.

    It is called with the values of the inputs, lists spread out: read-only arrays (NumPy scalars
    for rank 0, bytes for scalar strings), which it may keep. Its keyword-only parameters are the
    node's attributes of these names. It returns the output's value; where the op has none, nothing;
    where it has several or a list, a sequence. Their dtypes and shapes are those that the graph
    knows: others are an InternalError of the step. What it returns it gives away: an array that
    `empty` made must not be written to afterwards.

    Any number of threads may call it at once. What it raises becomes the OpError of the step: an
    OpError the same one, ValueError and TypeError an InvalidArgumentError, an OSError what its
    errno says, another an UnknownError.

    Args:
        op: the op's name.
        types: the dtypes of type attrs that the kernel is for, by the attr's name; any if not
            given.
        expensive: whether it runs long enough, without the interpreter's lock, to be worth a thread
            of its own.

    Raises:
        AlreadyExistsError: there is a kernel for such nodes.
    """

    def register(function: F) -> F:
        from qanat.core import _native
        from qanat.core.kernel_table import forget_kernel_table
        from qanat.core.run_errors import raise_status

        served = dict(types or {})
        try:
            numbers = {attr: dtype.number for attr, dtype in served.items()}
            _native.add_python_kernel(op, numbers, expensive)
        except _native.StatusError as error:
            raise_status(error, None)
        _functions.setdefault(op, []).append((served, function))
        forget_kernel_table()
        return function

    return register


def empty(dtype: DType, shape: Sequence[int]) -> Array:
    """An array for a kernel to fill and return, which then is the output without a copy.

    Args:
        dtype: of its elements; no strings.
        shape: of rank 8 at most.

    Raises:
        ResourceExhaustedError: there is no memory for it.
    """
    from qanat.core import _native
    from qanat.core.run_errors import raise_status

    try:
        return _native.empty(dtype.number, shape)
    except _native.StatusError as error:
        raise_status(error, None)


def function_of(
    op: str, attrs: Mapping[str, Any], dtypes: Sequence[DType], shapes: Sequence[TensorShape] = ()
) -> Callable[..., list[Array]] | None:
    """What native code calls to run a node, inputs to outputs; None where its kernel is native.

    Args:
        attrs: of the node.
        dtypes: of its outputs.
        shapes: what is known of theirs, which the function has to keep to; empty for nothing.
    """
    for types, function in _functions.get(op, ()):
        if all(attrs.get(attr) is dtype for attr, dtype in types.items()):
            promised = list(zip(dtypes, shapes or [UNKNOWN] * len(dtypes), strict=True))
            return _bound(function, lookup(op), attrs, promised)
    return None


def _bound(
    function: Callable[..., Any],
    op_def: OpDef,
    attrs: Mapping[str, Any],
    promised: Sequence[tuple[DType, TensorShape]],
) -> Callable[..., list[Array]]:
    parameters = inspect.signature(function).parameters.values()
    given = {p.name: attrs[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}
    single = len(op_def.outputs) == 1 and not op_def.outputs[0].is_list

    def run(*inputs: Any) -> list[Array]:
        try:
            result = function(*inputs, **given)
            return _outputs([result] if single else result or (), promised)
        except Exception as error:
            raise status_of(error) from error

    return run


def _outputs(values: Sequence[Any], promised: Sequence[tuple[DType, TensorShape]]) -> list[Array]:
    if len(values) != len(promised):
        raise errors.InternalError(f"expected {len(promised)} outputs, got {len(values)}")
    return [_array(value, *kind) for value, kind in zip(values, promised, strict=True)]


def _array(value: Any, dtype: DType, shape: TensorShape) -> Array:
    if dtype is string and not isinstance(value, np.ndarray):
        array = np.array(value, object)
    else:
        array = np.asarray(value)
    if array.dtype != dtype.as_numpy:
        raise errors.InternalError(f"expected an output of {dtype}, got {describe(value)}")
    if array.shape != shape.dims and not shape.is_compatible_with(array.shape):
        raise errors.InternalError(
            f"expected an output of shape {shape}, as its shape function said, got "
            f"{list(array.shape)}"
        )
    return array


# What an OSError means, by its errno.
_CODES: Final = {
    errno.ENOENT: errors.NOT_FOUND,
    errno.EEXIST: errors.ALREADY_EXISTS,
    errno.EACCES: errors.PERMISSION_DENIED,
    errno.EPERM: errors.PERMISSION_DENIED,
    errno.ENOSPC: errors.RESOURCE_EXHAUSTED,
    errno.EDQUOT: errors.RESOURCE_EXHAUSTED,
}


def status_of(error: BaseException) -> "_native.StatusError":
    """The error as native code takes it; the step adds the op and the node to the message."""
    from qanat.core import _native

    if isinstance(error, _native.StatusError):
        return error
    code, message = errors.UNKNOWN, f"{type(error).__name__}: {error}"
    if isinstance(error, OpError):
        code, message = error.code, error.message
        if message.startswith("["):
            message = message.partition("] ")[2]
    elif isinstance(error, (TypeError, ValueError)):
        code, message = errors.INVALID_ARGUMENT, str(error)
    elif isinstance(error, OSError):
        code, message = _CODES.get(error.errno or 0, errors.UNKNOWN), str(error)
    elif isinstance(error, MemoryError):
        code = errors.RESOURCE_EXHAUSTED
    status = _native.StatusError(message)
    status.code, status.message, status.node = code, message, -1
    return status
