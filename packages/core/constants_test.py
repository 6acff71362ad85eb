"""Tests of how Python values become arrays."""

import math

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.constants import to_array
from qanat.core.dtypes import DType


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, dtypes.float32),
        (7, dtypes.int32),
        (2**31, dtypes.int64),
        (True, dtypes.bool_),
        (1j, dtypes.complex128),
        ("a", dtypes.string),
        (b"\x00", dtypes.string),
        ([1, 2.5], dtypes.float32),
        ([], dtypes.float32),
        (np.float64(1), dtypes.float64),
        (np.zeros(2, np.uint8), dtypes.uint8),
        (np.array(["a", "bc"]), dtypes.string),
        (np.zeros(2, ">f8"), dtypes.float64),
        (math.inf, dtypes.float32),
    ],
)
def test_types_of_values(value: object, dtype: DType) -> None:
    array = to_array(value)
    assert array.dtype is dtype.as_numpy or array.dtype == dtype.as_numpy
    assert array.dtype.isnative


@pytest.mark.parametrize("dtype", sorted(dtypes.NUMERIC, key=str))
def test_ints_become_all_numbers(dtype: DType) -> None:
    array = to_array([[1, 2], [3, 4]], dtype)
    assert array.dtype == dtype.as_numpy and array.astype(
        np.float64 if not dtype.is_complex else complex
    ).tolist() == [[1, 2], [3, 4]]  # noqa: E501


def test_strings_keep_every_byte() -> None:
    assert to_array([b"a\x00", "\u00e9", b"\xff"]).tolist() == [b"a\x00", b"\xc3\xa9", b"\xff"]
    assert to_array(np.array([b"ab", b"c"])).tolist() == [b"ab", b"c"]


@pytest.mark.parametrize(
    ("value", "dtype", "error", "expected"),
    [
        (1.5, dtypes.int32, TypeError, "expected int32, got 1.5 of type float"),
        (True, dtypes.float32, TypeError, "expected float32, got True"),
        (1, dtypes.bool_, TypeError, "expected bool, got 1"),
        (1j, dtypes.float32, TypeError, "expected float32, got 1j"),
        ("a", dtypes.float32, TypeError, "expected float32, got 'a'"),
        (1, dtypes.string, TypeError, "expected string, got 1"),
        (["a", 1], None, TypeError, r"strings, of one kind in a list, got 1 .* in \['a', 1\] of"),
        (
            np.array([1, 2], object),
            None,
            TypeError,
            "strings in an array of objects, got 1 of type int: with .astype",
        ),
        (300, dtypes.int8, ValueError, r"expected values of int8 \(-128 to 127\), got 300"),
        (-1, dtypes.uint8, ValueError, "expected values of uint8"),
        (1e300, dtypes.float32, ValueError, "expected values that float32 can hold"),
        (1e6, dtypes.float16, ValueError, "expected values that float16 can hold"),
        (2**70, None, ValueError, "expected integers of at most 64 bits"),
        ([1, 2**70], dtypes.float32, ValueError, "expected integers of at most 64 bits"),
        (np.zeros((1,) * 9), None, ValueError, "expected at most 8 dimensions, got 9"),
        ([[1], [2, 3]], None, ValueError, "expected nested lists"),
        (object(), None, TypeError, "expected numbers, bools or strings"),
        (None, None, TypeError, "expected numbers, bools or strings, got None of type NoneType$"),
        ({1}, None, TypeError, r"expected numbers, bools or strings, got \{1\} of type set$"),
        (np.zeros(2, "M8[s]"), None, TypeError, "no tensor has the element type datetime64"),
    ],
)
def test_refused(value: object, dtype: DType | None, error: type[Exception], expected: str) -> None:
    with pytest.raises(error, match=expected):
        to_array(value, dtype)


def test_results_share_nothing_with_the_value() -> None:
    given = np.zeros(3, np.float32)
    array = to_array(given)
    given[0] = 1
    assert array[0] == 0
    assert to_array([], dtypes.int32).shape == (0,)
