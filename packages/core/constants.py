"""From Python values to NumPy arrays of Qanat's element types, where no value is lost on the way.

Python numbers are weakly typed: floats are float32 and ints int32 (int64 where they do not fit),
unless a dtype is asked for. NumPy arrays have the type they have.
"""

from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType

# Of a tensor: kMaxRank in native/kernel/tensor_view.h.
MAX_RANK: Final = 8

Array = np.ndarray[Any, Any]

# Which kinds of given numbers an asked-for kind accepts.
_ACCEPTS: Final = {"f": "fiu", "i": "iu", "u": "iu", "c": "cfiu", "b": "b", "S": "S", "R": "R"}

_FLOAT32_MAX: Final = float(np.finfo(np.float32).max)


def to_array(value: Any, dtype: DType | None = None) -> Array:
    """A new array with the elements of `value`, which is never changed through it.

    Args:
        value: a number, bool, string, bytes, a NumPy array, or nested lists and tuples of these.
        dtype: the type to have. Ints become floats and numbers complex; nothing else changes kind.

    Raises:
        TypeError: the elements are of another kind, or of none that a tensor holds.
        ValueError: the lists are ragged or too deep, or a number is outside the type's range.
    """
    if type(value) is float and (dtype is None or dtype is dtypes.float32):
        if -_FLOAT32_MAX <= value <= _FLOAT32_MAX:
            return np.array(value, np.float32)
    given = _raw_array(value)
    if given.ndim > MAX_RANK:
        raise ValueError(
            f"expected at most {MAX_RANK} dimensions, got {given.ndim}: shape {list(given.shape)}"
        )
    if given.dtype.kind == "O":
        return _strings(given, value, dtype)
    natural = dtypes.as_dtype(given.dtype)
    if dtype is None:
        target = natural if isinstance(value, (np.ndarray, np.generic)) else _narrowed(given)
        return given if target is natural else given.astype(target.as_numpy)
    if given.size and natural.kind not in _ACCEPTS[dtype.kind]:
        raise TypeError(f"expected {dtype.name}, got {describe(value)}")
    return given if natural is dtype else _checked_cast(given, dtype, value)


def natural_dtype(value: Any) -> DType:
    """The type `to_array(value)` would have; raises as it does."""
    return dtypes.as_dtype(to_array(value).dtype)


def describe(value: Any) -> str:
    """A value as errors show it: short, with its type."""
    if isinstance(value, np.ndarray):
        return f"a NumPy array of {value.dtype} with shape {list(value.shape)}"
    text = repr(value)
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{text} of type {type(value).__name__}"


def _raw_array(value: Any) -> Array:
    """The elements with a native dtype that Qanat has, or as an object array of bytes and
    others."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value)
    elif isinstance(value, (str, bytes)):
        array = np.empty((), object)
        array[()] = value
    else:
        try:
            array = np.array(value)
        except UnicodeDecodeError:  # str and bytes mixed
            array = np.array(value, dtype=object)
        except ValueError as error:
            raise ValueError(
                f"expected nested lists in which all of a level have one length, got "
                f"{describe(value)}"
            ) from error
        if array.dtype.kind in "SU":  # fixed width would lose trailing zero bytes
            array = np.array(value, dtype=object)
    if array.dtype.kind in "SU":
        return array.astype(object)
    if array.dtype.kind == "O":
        return array
    try:
        return array.astype(dtypes.as_dtype(array.dtype).as_numpy, order="C", copy=False)
    except TypeError:
        raise TypeError(
            f"expected numbers, bools or strings, got {describe(value)}: no tensor has the "
            f"element type {array.dtype}"
        ) from None


def _strings(given: Array, value: Any, dtype: DType | None) -> Array:
    if any(isinstance(e, int) and not -(2**63) <= e < 2**64 for e in given.flat):
        raise ValueError(f"expected integers of at most 64 bits, got {describe(value)}")
    if dtype is not None and dtype is not dtypes.string:
        raise TypeError(f"expected {dtype.name}, got {describe(value)}")
    flat = np.empty(given.size, object)
    for i, element in enumerate(given.ravel()):
        if isinstance(element, str):
            flat[i] = element.encode("utf-8")
        elif isinstance(element, bytes):
            flat[i] = bytes(element)
        else:
            raise TypeError(_no_string(element, value))
    return flat.reshape(given.shape)


def _no_string(element: Any, value: Any) -> str:
    """What is wrong with an element of what NumPy took for objects."""
    if isinstance(value, np.ndarray):
        return (
            f"expected strings in an array of objects, got {describe(element)}: with .astype "
            "numbers and bools get a dtype of their own"
        )
    if element is value:
        return f"expected numbers, bools or strings, got {describe(value)}"
    return (
        "expected numbers, bools or strings, of one kind in a list, got "
        f"{describe(element)} in {describe(value)}"
    )


def _narrowed(given: Array) -> DType:
    """The type of Python numbers that nobody asked to have one."""
    if given.dtype == np.float64:
        return dtypes.float32
    if given.dtype == np.int64 and _fits(given, dtypes.int32):
        return dtypes.int32
    return dtypes.as_dtype(given.dtype)


def _fits(given: Array, dtype: DType) -> bool:
    limits = np.iinfo(dtype.as_numpy)
    return not given.size or (int(given.min()) >= limits.min and int(given.max()) <= limits.max)


def _checked_cast(given: Array, dtype: DType, value: Any) -> Array:
    if dtype.is_integer and given.size and not _fits(given, dtype):
        raise ValueError(
            f"expected values of {dtype.name} ({dtype.min} to {dtype.max}), got {describe(value)}"
        )
    with np.errstate(over="ignore"):
        cast = given.astype(dtype.as_numpy)
    if dtype.is_floating and bool((np.isinf(cast) & np.isfinite(given)).any()):
        raise ValueError(
            f"expected values that {dtype.name} can hold (to {dtype.max}), got {describe(value)}"
        )
    return cast
