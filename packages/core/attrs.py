"""Attributes of ops: their kinds, and what each accepts.

A kind is `bool`, `int`, `float`, `string`, `type`, `shape`, `tensor`, or `list(...)` of one of
them. On an Operation the values are bool, int, float, str or bytes, DType, TensorShape, np.ndarray,
and lists.
"""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.constants import describe, to_array
from qanat.core.dtypes import DType, as_dtype
from qanat.core.shapes import INT64_MAX, TensorShape, as_shape

REQUIRED: Final = object()


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError


def _int(value: Any) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError
    number = operator.index(value)
    if not -INT64_MAX - 1 <= number <= INT64_MAX:
        raise ValueError("an int64")
    return number


def _float(value: Any) -> float:
    """In the precision that a GraphDef has, so that a graph read back computes the same."""
    if not isinstance(value, (int, float, np.floating, np.integer)) or isinstance(value, bool):
        raise TypeError
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if math.isinf(rounded) and not math.isinf(value):
        raise ValueError("a float32")
    return rounded


def _string(value: Any) -> str | bytes:
    if isinstance(value, (str, bytes)):
        return value
    raise TypeError


def _tensor(value: Any) -> np.ndarray[Any, Any]:
    array = to_array(value)
    array.flags.writeable = False
    return array


_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "string": _string,
    "type": as_dtype,
    "shape": as_shape,
    "tensor": _tensor,
}

_KIND_OF: Final[dict[Any, str]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    bytes: "string",
    DType: "type",
    TensorShape: "shape",
    np.ndarray: "tensor",
}


def scalar_kind(annotation: Any) -> str | None:
    """The kind of attr that a parameter with this annotation is; None if it is none."""
    return _KIND_OF.get(getattr(annotation, "__origin__", annotation))


@dataclass(frozen=True, slots=True)
class AttrDef:
    """An attribute that an op has.

    Attributes:
        kind: see the module.
        default: a checked value, or REQUIRED.
        allowed: DTypes or strings that are accepted; None for all.
        inferred: whether it comes from the inputs ("T", "N") and is not given by callers.
    """

    name: str
    kind: str
    default: Any = REQUIRED
    allowed: frozenset[Any] | None = None
    inferred: bool = False

    def check(self, value: Any) -> Any:
        """The value in its one form.

        Raises:
            TypeError: it is of another kind.
            ValueError: it is not among those allowed, or out of range.
        """
        if self.kind.startswith("list("):
            scalar = self.kind[5:-1]
            if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
                raise TypeError(f"attr {self.name}: expected a {self.kind}, got {describe(value)}")
            return [self._check_scalar(scalar, element) for element in value]
        return self._check_scalar(self.kind, value)

    def _check_scalar(self, kind: str, value: Any) -> Any:
        try:
            checked = _CHECKS[kind](value)
        except (TypeError, ValueError) as error:
            detail = f": {error}" if str(error) else ""
            raise type(error)(
                f"attr {self.name}: expected {self._accepted(kind)}, got {describe(value)}{detail}"
            ) from None
        if self.allowed is not None and checked not in self.allowed:
            got = checked.name if isinstance(checked, DType) else repr(checked)
            error_type = TypeError if isinstance(checked, DType) else ValueError
            raise error_type(f"attr {self.name}: expected {self._accepted(kind)}, got {got}")
        return checked

    def _accepted(self, kind: str) -> str:
        if self.allowed is None:
            return {"int": "an int", "type": "a dtype"}.get(kind, f"a {kind}")
        if kind == "type":
            return f"one of {dtypes.names(self.allowed)}"
        return f"one of {', '.join(map(repr, sorted(self.allowed)))}"


def as_text(value: str | bytes) -> str:
    """A string attr as text, whichever form it was given in."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def equal(a: Any, b: Any) -> bool:
    """Whether two attr values are the same, tensors by type and elements (NaN is NaN's equal)."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
            return False
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind == "O":
            return bool((a == b).all())
        return a.tobytes() == b.tobytes()
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)
