"""Tests of element types."""

import pickle

import ml_dtypes
import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.dtypes import as_dtype


def test_numbers_are_those_of_files() -> None:
    expected = {
        "float32": 1,
        "float64": 2,
        "int32": 3,
        "uint8": 4,
        "string": 7,
        "int64": 9,
        "bool": 10,
        "bfloat16": 14,
        "float16": 19,
        "resource": 20,
        "uint64": 23,
    }
    assert {name: as_dtype(name).number for name in expected} == expected
    assert all(as_dtype(dtype.number) is dtype is as_dtype(dtype.name) for dtype in dtypes.ALL)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32, dtypes.float32),
        (np.dtype(">i4"), dtypes.int32),
        (np.dtype("U3"), dtypes.string),
        (ml_dtypes.bfloat16, dtypes.bfloat16),
        ("float", dtypes.float32),
        ("half", dtypes.float16),
        (float, dtypes.float32),
        (int, dtypes.int32),
        (bool, dtypes.bool_),
        (str, dtypes.string),
        (9, dtypes.int64),
        (dtypes.int8, dtypes.int8),
    ],
)
def test_as_dtype(value: object, expected: dtypes.DType) -> None:
    assert as_dtype(value) is expected and expected == value


@pytest.mark.parametrize("value", [None, "float31", 99, np.datetime64, "", [1], np.dtype("V2")])
def test_what_is_no_dtype(value: object) -> None:
    with pytest.raises(TypeError, match="expected a dtype such as float32"):
        as_dtype(value)
    assert dtypes.float32 != value


def test_sets() -> None:
    assert dtypes.names(dtypes.FLOATING) == "float32, float64, bfloat16, float16"
    assert dtypes.int8 in dtypes.INTEGER | dtypes.COMPLEX and dtypes.uint8 in dtypes.NUMERIC
    assert dtypes.bool_ not in dtypes.NUMERIC and dtypes.string in dtypes.ALL


def test_limits() -> None:
    assert dtypes.uint8.max == 255 and dtypes.int64.min == -(2**63)
    assert dtypes.float16.max == 65504 and float(dtypes.bfloat16.max) > 3e38
    with pytest.raises(TypeError, match="complex64 has no max"):
        _ = dtypes.complex64.max


def test_identity_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(dtypes.float32)) is dtypes.float32
