"""Checks that fail the step, or the building of the graph where the answer is known then.

A check is an Operation: something has to depend on it, as in
`with control_dependencies([assert_less(x, y)]): z = identity(x)`.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import base_ops, dtypes
from qanat.core.errors import InvalidArgumentError, ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import In, Shapes, op
from qanat.ops import comparison, reductions, shaping
from qanat.ops.shape_functions import require_scalar

__all__ = [
    "Assert",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_less",
    "assert_less_equal",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_rank",
]


@op("Assert", outputs="", stateful=True, differentiable=False, T=dtypes.ALL)
def assert_op(
    condition: Annotated[In, "bool"], data: Annotated[list[In], "T"], *, summarize: int = 3
) -> Shapes:
    """An invalid-argument error of the step that shows `data`, unless the scalar `condition` is
    true.
    """
    require_scalar(condition, "condition")
    return []


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Checks that a scalar bool is true.

    Args:
        condition: the bool.
        data: what the error shows: tensors, numbers, strings.
        summarize: how many elements of each tensor it shows; 3 if not given.

    Returns:
        The Operation that checks.

    Raises:
        InvalidArgumentError: condition is known to be false already.
        ShapeError: condition is no scalar.
    """
    condition = convert_to_tensor(condition, dtype=dtypes.bool_)
    known = In(condition).value
    if known is not None and known.ndim == 0:
        if not known:
            shown = " ".join(str(_shown(x)) for x in data)
            raise InvalidArgumentError(f"[Assert] expected a true condition, got false: {shown}")
        return base_ops.no_op(name=name)
    tensors = [convert_to_tensor(x) for x in data]
    return assert_op(condition, tensors, summarize=3 if summarize is None else summarize, name=name)


def _shown(x: Any) -> Any:
    """What an error shows of a value: its elements where they are known."""
    if not isinstance(x, Output):
        return x
    value = In(x).value
    return x if value is None else value.tolist()


def _compared(
    relation: Callable[[Any, Any], Output],
    symbol: str,
    x: Any,
    y: Any,
    data: Sequence[Any] | None,
    summarize: int | None,
    message: str | None,
    name: str,
) -> Operation:
    """Asserts that a relation holds between all elements, which broadcast."""
    with name_scope(name, values=[x, y]):
        x = convert_to_tensor(x, dtype=y.dtype if isinstance(y, Output) else None)
        y = convert_to_tensor(y, dtype=x.dtype)
        if data is None:
            data = [f"{message or ''} expected x {symbol} y elementwise, got x =", x, "and y =", y]
        a, b = In(x).value, In(y).value
        if a is not None and b is not None:
            return Assert(bool(np.all(_NUMPY[symbol](a, b))), data, summarize)
        return Assert(reductions.reduce_all(relation(x, y)), data, summarize)


_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def assert_equal(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_equal",
) -> Operation:
    """Checks that x == y for all elements; they broadcast.

    Args:
        x, y: tensors of one dtype.
        data: what the error shows; message, x and y if not given.
        summarize: how many elements of each tensor it shows; 3 if not given.
        message: what the error begins with.

    Raises:
        InvalidArgumentError: it is known already not to hold; otherwise the step fails with it.
    """
    return _compared(comparison.equal, "==", x, y, data, summarize, message, name)


def assert_none_equal(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_none_equal",
) -> Operation:
    """Checks that x != y for all elements; as `assert_equal`."""
    return _compared(comparison.not_equal, "!=", x, y, data, summarize, message, name)


def assert_less(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_less",
) -> Operation:
    """Checks that x < y for all elements; as `assert_equal`."""
    return _compared(comparison.less, "<", x, y, data, summarize, message, name)


def assert_less_equal(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_less_equal",
) -> Operation:
    """Checks that x <= y for all elements; as `assert_equal`."""
    return _compared(comparison.less_equal, "<=", x, y, data, summarize, message, name)


def assert_greater(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_greater",
) -> Operation:
    """Checks that x > y for all elements; as `assert_equal`."""
    return _compared(comparison.greater, ">", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: Any,
    y: Any,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str = "assert_greater_equal",
) -> Operation:
    """Checks that x >= y for all elements; as `assert_equal`."""
    return _compared(comparison.greater_equal, ">=", x, y, data, summarize, message, name)


def assert_negative(x: Any, message: str | None = None, name: str = "assert_negative") -> Operation:
    """Checks that all elements are below 0; as `assert_equal`."""
    return assert_less(x, _zero_of(x), message=message, name=name)


def assert_positive(x: Any, message: str | None = None, name: str = "assert_positive") -> Operation:
    """Checks that all elements are above 0; as `assert_equal`."""
    return assert_greater(x, _zero_of(x), message=message, name=name)


def assert_non_negative(
    x: Any, message: str | None = None, name: str = "assert_non_negative"
) -> Operation:
    """Checks that no element is below 0; as `assert_equal`."""
    return assert_greater_equal(x, _zero_of(x), message=message, name=name)


def assert_non_positive(
    x: Any, message: str | None = None, name: str = "assert_non_positive"
) -> Operation:
    """Checks that no element is above 0; as `assert_equal`."""
    return assert_less_equal(x, _zero_of(x), message=message, name=name)


def _zero_of(x: Any) -> Any:
    return np.zeros((), convert_to_tensor(x).dtype.as_numpy)


def assert_rank(
    x: Any, rank: int, message: str | None = None, name: str = "assert_rank"
) -> Operation:
    """Checks that x has `rank` dimensions, while the graph is built where that is known.

    Raises:
        ShapeError: x's rank is known to be another one; otherwise the step fails.
    """
    x = convert_to_tensor(x)
    if x.shape.rank is None:
        return assert_equal(shaping.rank(x), rank, message=message, name=name)
    if x.shape.rank != rank:
        raise ShapeError(
            f"[assert_rank] expected rank {rank}, got shape {x.shape}. {message or ''}"
        )
    return base_ops.no_op(name=name)
