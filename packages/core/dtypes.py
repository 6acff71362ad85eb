"""Element types: names, numbers of the wire format, and what they are in NumPy."""

from typing import Any, Final

import ml_dtypes
import numpy as np


class DType:
    """An element type. There is one instance a type, so `is` compares.

    Attributes:
        name: as in `float32`.
        number: of TensorFlow's DataType, on the wire and in native code.
        as_numpy: the `np.dtype`; strings and resources are object arrays.
        size: bytes an element takes; 0 for strings and resources.
        kind: "f" float, "i" signed, "u" unsigned, "c" complex, "b" bool, "S" string, "R" resource.
    """

    __slots__ = ("as_numpy", "kind", "name", "number", "size")

    def __init__(self, name: str, number: int, kind: str, numpy_type: Any) -> None:
        self.name: Final = name
        self.number: Final = number
        self.kind: Final = kind
        self.as_numpy: Final[np.dtype[Any]] = np.dtype(numpy_type)
        self.size: Final[int] = 0 if kind in "SR" else self.as_numpy.itemsize

    @property
    def as_numpy_dtype(self) -> Any:
        """The NumPy scalar type, such as `np.float32`; `object` for strings."""
        return object if self.size == 0 else self.as_numpy.type

    @property
    def as_datatype_enum(self) -> int:
        return self.number

    @property
    def is_floating(self) -> bool:
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_unsigned(self) -> bool:
        return self.kind == "u"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_bool(self) -> bool:
        return self.kind == "b"

    @property
    def base_dtype(self) -> "DType":
        """Itself: Qanat has no reference types. Kept for code written for TensorFlow."""
        return self

    @property
    def real_dtype(self) -> "DType":
        """float32 for complex64, float64 for complex128, else itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def min(self) -> Any:
        """The least finite value, a NumPy scalar.

        Raises:
            TypeError: strings, resources and complex numbers have no order.
        """
        return self._limit("min")

    @property
    def max(self) -> Any:
        """The greatest finite value, a NumPy scalar; raises as `min` does."""
        return self._limit("max")

    def _limit(self, which: str) -> Any:
        if self.kind == "f":
            return getattr(ml_dtypes.finfo(self.as_numpy), which)  # type: ignore[no-untyped-call]
        if self.kind in "iu":
            return self.as_numpy.type(getattr(np.iinfo(self.as_numpy), which))
        if self.kind == "b":
            return np.bool_(which == "max")
        raise TypeError(f"{self.name} has no {which}: its values have no order")

    def is_compatible_with(self, other: Any) -> bool:
        return as_dtype(other) is self

    def __eq__(self, other: object) -> bool:
        """Whether `other` is this type or names it: `dtype == np.float32` holds for float32."""
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"qn.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


float32 = DType("float32", 1, "f", np.float32)
float64 = DType("float64", 2, "f", np.float64)
int32 = DType("int32", 3, "i", np.int32)
uint8 = DType("uint8", 4, "u", np.uint8)
int16 = DType("int16", 5, "i", np.int16)
int8 = DType("int8", 6, "i", np.int8)
string = DType("string", 7, "S", object)
complex64 = DType("complex64", 8, "c", np.complex64)
int64 = DType("int64", 9, "i", np.int64)
bool_ = DType("bool", 10, "b", np.bool_)
bfloat16 = DType("bfloat16", 14, "f", ml_dtypes.bfloat16)
uint16 = DType("uint16", 17, "u", np.uint16)
complex128 = DType("complex128", 18, "c", np.complex128)
float16 = DType("float16", 19, "f", np.float16)
resource = DType("resource", 20, "R", object)
uint32 = DType("uint32", 22, "u", np.uint32)
uint64 = DType("uint64", 23, "u", np.uint64)

ALL: Final = frozenset(value for value in tuple(globals().values()) if isinstance(value, DType))
FLOATING: Final = frozenset(dtype for dtype in ALL if dtype.kind == "f")
SIGNED: Final = frozenset(dtype for dtype in ALL if dtype.kind == "i")
UNSIGNED: Final = frozenset(dtype for dtype in ALL if dtype.kind == "u")
INTEGER: Final = SIGNED | UNSIGNED
COMPLEX: Final = frozenset(dtype for dtype in ALL if dtype.kind == "c")
REAL: Final = FLOATING | INTEGER
NUMERIC: Final = REAL | COMPLEX
INDEX: Final = frozenset((int32, int64))

half = float16
double = float64

_BY_NUMBER: Final = {dtype.number: dtype for dtype in ALL}
_BY_NAME: Final = {dtype.name: dtype for dtype in ALL} | {
    "half": float16,
    "float": float32,
    "double": float64,
}
_BY_NUMPY: Final = {dtype.as_numpy: dtype for dtype in ALL if dtype.size}
_BY_PYTHON: Final[dict[Any, DType]] = {
    float: float32,
    int: int32,
    bool: bool_,
    complex: complex128,
    str: string,
    bytes: string,
    object: string,
}


def as_dtype(value: Any) -> DType:
    """The DType that `value` names.

    Args:
        value: a DType, a name, a DataType number, a NumPy dtype or scalar type, or a Python type.

    Raises:
        TypeError: it names no element type.
    """
    if isinstance(value, DType):
        return value
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return _BY_NUMBER[value]
        if isinstance(value, str):
            return _BY_NAME[value]
        if isinstance(value, type) and value in _BY_PYTHON:
            return _BY_PYTHON[value]
        if value is not None:
            return _from_numpy(np.dtype(value))
    except (KeyError, TypeError):
        pass
    raise TypeError(f"expected a dtype such as {names(NUMERIC)}, got {value!r}")


def _from_numpy(dtype: np.dtype[Any]) -> DType:
    if dtype.kind in "SUO":
        return string
    return _BY_NUMPY[dtype if dtype.isnative else dtype.newbyteorder("=")]


def names(dtypes: frozenset[DType] | set[DType]) -> str:
    """A readable list of a set of types, in one order, for error messages."""
    return ", ".join(dtype.name for dtype in sorted(dtypes, key=lambda dtype: dtype.number))
