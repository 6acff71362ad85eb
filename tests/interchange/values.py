"""The tensors that are exchanged, as both sides expect them: imports what both have."""

from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

_DTYPES = (
    "float16 float32 float64 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 "
    "uint64 bool"
).split()

# A matrix that is stored in slices of rows.
TABLE = np.arange(24, dtype=np.float32).reshape(6, 4)
TABLE_SLICES = ("6 4 0,2:-", "6 4 2,2:-", "6 4 4,2:-")


def tensors() -> dict[str, Array]:
    """By name."""
    found: dict[str, Array] = {
        f"dtypes/{name}": np.array([[0, 1, 2], [3, 1, 0]]).astype(name) for name in _DTYPES
    }
    found["dtypes/bfloat16"] = np.array([1.5, -2], ml_dtypes.bfloat16)
    found["scalar"] = np.asarray(np.int64(2**40))
    found["empty"] = np.zeros((0, 3), np.float32)
    found["strings"] = np.array([b"", b"abc", b"\0\xff" * 300], object)
    found["one_string"] = np.array(b"text", object)
    found["large"] = np.random.default_rng(0).normal(size=(300, 1000)).astype(np.float32)
    for i in range(3000):
        found[f"many/layer_{i:04d}/kernel"] = np.full(i % 5, i, np.int32)
    return found


def require_same(name: str, given: Any, expected: Array) -> None:
    """Raises AssertionError where they differ in type, shape or any bit."""
    given = np.asarray(given, object if expected.dtype == object else None)
    assert given.dtype == expected.dtype, f"{name}: {given.dtype}, not {expected.dtype}"
    assert given.shape == expected.shape, f"{name}: {given.shape}, not {expected.shape}"
    assert given.tolist() == expected.tolist(), f"{name}: {given}, not {expected}"
