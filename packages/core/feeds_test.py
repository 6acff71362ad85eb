"""Tests of what may be fed."""

import numpy as np
import pytest

from qanat.core.base_ops import placeholder
from qanat.core.feeds import Feed
from qanat.core.graph import Graph


def convert(dtype: str, shape: object, value: object) -> object:
    with Graph().as_default():
        return Feed(placeholder(dtype, shape, name="x")).convert(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "shape", "value"),
    [
        ("float32", [], 1.5),
        ("float32", [], 1),
        ("float32", [], np.float64(1.5)),
        ("float32", [], np.float32(1.5)),
        ("int32", None, np.int32(1)),
        ("float32", [2], [1, 2]),
        ("float32", [2, None], np.zeros((2, 5), np.float32)),
        ("float32", None, np.zeros((1, 1, 1), np.float32)),
        ("float32", [2], np.zeros(2, ">f4")),
        ("int64", [1], (7,)),
        ("string", [2], ["a", b"b"]),
        ("string", [2], np.array(["a", "b"])),
        ("bool", [], True),
        ("bfloat16", [1], [1.0]),
        ("float32", [0, 3], np.zeros((0, 3), np.float32)),
    ],
)
def test_accepted(dtype: str, shape: object, value: object) -> None:
    result = convert(dtype, shape, value)
    if not isinstance(result, (float, np.generic)):
        assert isinstance(result, np.ndarray) and result.dtype.isnative
        assert dtype == "string" or result.dtype == np.dtype(result.dtype.type)


def test_arrays_of_the_right_type_are_not_copied() -> None:
    value = np.zeros(3, np.float32)
    assert convert("float32", [3], value) is value


@pytest.mark.parametrize(
    ("dtype", "shape", "value", "error", "expected"),
    [
        (
            "float32",
            [2],
            np.zeros(2),
            TypeError,
            r"got a NumPy array of float64 .* \.astype\('float32'\)",
        ),
        ("float32", [2], np.zeros(2, np.int64), TypeError, "got a NumPy array of int64"),
        ("int32", [], 1.5, TypeError, "expected int32, got 1.5"),
        ("int8", [], 300, ValueError, "expected values of int8"),
        ("float32", [], 1e300, ValueError, "that float32 can hold"),
        (
            "float32",
            [2],
            [1.0],
            ValueError,
            r"expected a value of float32\[2\] for 'x:0', got .*\[1\]",
        ),
        (
            "float32",
            None,
            np.zeros((1,) * 9, np.float32),
            ValueError,
            r"1\], of more than 8 dimensions",
        ),
        ("float32", None, 2**200, ValueError, "expected integers of at most 64 bits"),
        ("float32", [2], 1.0, ValueError, r"got a value of shape \[\]"),
        (
            "float32",
            [None, 3],
            np.zeros((2, 4), np.float32),
            ValueError,
            r"float32\[\?,3\].*\[2, 4\]",
        ),
        ("float32", [], "a", TypeError, "expected float32, got 'a'"),
        ("float32", [2], [[1.0], 2.0], ValueError, "expected nested lists"),
        ("float32", [], None, TypeError, "got None"),
        ("float32", [1], np.zeros(1, "M8[s]"), TypeError, "datetime64"),
    ],
)
def test_refused(
    dtype: str, shape: object, value: object, error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected) as caught:
        convert(dtype, shape, value)
    assert str(caught.value).startswith("[Placeholder] feed_dict: ")
    assert "made at" in str(caught.value) and "feeds_test.py:" in str(caught.value)


def test_symbolic_values_are_no_values() -> None:
    with Graph().as_default():
        x = placeholder("float32", [])
        with pytest.raises(TypeError, match="got the symbolic <qn.Output .*: run it first"):
            Feed(x).convert(x)


def test_handles_cannot_be_fed() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="got the handle"):
        Feed(placeholder("resource"))
