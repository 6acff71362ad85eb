"""The safetensors format, compared with its own library."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors import numpy as theirs

from qanat.checkpoint.safetensors import SafetensorsReader, load_safetensors, save_safetensors
from qanat.core import dtypes
from qanat.core.errors import DataLossError, NotFoundError

Array = np.ndarray[Any, Any]

TENSORS: dict[str, Array] = {
    "kernel": np.arange(12, dtype=np.float32).reshape(3, 4),
    "double": np.array([1e300, -0.0, np.inf]),
    "half": np.array([1.5], np.float16),
    "brain": np.array([1.5, -2], ml_dtypes.bfloat16),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 3), np.int8),
    "scalar": np.asarray(np.int64(2**40)),
    "bytes": np.arange(7, dtype=np.uint8),
    "ümlaut": np.array([2**64 - 1], np.uint64),
}


def assert_same(given: dict[str, Array], expected: dict[str, Array]) -> None:
    assert given.keys() == expected.keys()
    for name, value in expected.items():
        assert given[name].dtype == value.dtype and given[name].shape == value.shape
        np.testing.assert_array_equal(given[name], value)


def test_their_library_reads_ours(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "file", TENSORS, {"made by": "a test"})
    assert_same(theirs.load_file(tmp_path / "file"), TENSORS)


def test_ours_reads_their_library(tmp_path: Path) -> None:
    theirs.save_file(TENSORS, tmp_path / "file", {"made by": "a test"})
    assert_same(load_safetensors(tmp_path / "file"), TENSORS)
    reader = SafetensorsReader(tmp_path / "file")
    assert reader.metadata == {"made by": "a test"}
    assert reader.shape("kernel") == (3, 4) and reader.dtype("brain") is dtypes.bfloat16


def test_values_are_written_little_endian_from_any_layout(tmp_path: Path) -> None:
    numbers = np.arange(6).reshape(2, 3)
    given = {
        "float": numbers.astype(">f4"),
        "int": numbers.astype(">i8"),
        "complex": (numbers * 1j).astype(">c8"),
        "rows turned": numbers.astype(np.float32)[::-1],
        "columns": numbers.astype(">i2")[:, ::2],
        "transposed": numbers.astype(np.float64).T,
    }
    save_safetensors(tmp_path / "file", given)
    native = {name: value.astype(value.dtype.newbyteorder("=")) for name, value in given.items()}
    assert_same(load_safetensors(tmp_path / "file"), native)


def test_ours_reads_ours_and_replaces(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "file", {})
    assert load_safetensors(tmp_path / "file") == {}
    complex_numbers = {"c": np.array([1 + 2j], np.complex64)}
    save_safetensors(tmp_path / "file", complex_numbers)
    assert_same(load_safetensors(tmp_path / "file"), complex_numbers)
    assert os.listdir(tmp_path) == ["file"]


def test_what_has_no_place_in_it(tmp_path: Path) -> None:
    for value in (np.array([b"a"], object), np.array([1j])):
        with pytest.raises(TypeError, match="expected one of F64, .* for 'x'"):
            save_safetensors(tmp_path / "file", {"x": value})
    assert os.listdir(tmp_path) == []


def file_with(path: Path, header: Any, size: int) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))


def entry(dtype: str, shape: list[Any], start: Any, end: Any) -> Any:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


BAD = {
    "no json": (b"{", 0),
    "no map": (b"[]", 0),
    "no utf-8": (b"\xff", 0),
    "nested too deep": (b"[" * 100_000, 0),
    "too few bytes": ({"x": entry("F32", [2], 0, 8)}, 7),
    "too many bytes": ({"x": entry("F32", [2], 0, 8)}, 9),
    "a gap": ({"x": entry("U8", [1], 0, 1), "y": entry("U8", [1], 2, 3)}, 3),
    "an overlap": ({"x": entry("U8", [2], 0, 2), "y": entry("U8", [2], 1, 3)}, 3),
    "another size": ({"x": entry("F32", [3], 0, 8)}, 8),
    "a negative size": ({"x": entry("U8", [-1, -1], 0, 1)}, 1),
    "a huge size": ({"x": entry("U8", [2**62, 4], 0, 0)}, 0),
    "no integers": ({"x": entry("U8", [1.0], 0, 1)}, 1),
    "an unknown dtype": ({"x": entry("F8", [1], 0, 1)}, 1),
    "no offsets": ({"x": {"dtype": "U8", "shape": []}}, 1),
    "a name twice": (b'{"x":%s,"x":%s}' % ((json.dumps(entry("U8", [0], 0, 0)).encode(),) * 2), 0),
}


@pytest.mark.parametrize("name", BAD)
def test_corrupt_files(tmp_path: Path, name: str) -> None:
    header, size = BAD[name]
    file_with(tmp_path / "file", header, size)
    with pytest.raises(DataLossError, match="file is corrupt"):
        SafetensorsReader(tmp_path / "file")
    if name != "a name twice":  # where theirs takes the last
        with pytest.raises((SafetensorError, ValueError, TypeError)):
            theirs.load_file(tmp_path / "file")


def test_truncated_files(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "file", TENSORS)
    contents = (tmp_path / "file").read_bytes()
    for size in range(len(contents)):
        (tmp_path / "file").write_bytes(contents[:size])
        with pytest.raises(DataLossError, match="file is corrupt"):
            SafetensorsReader(tmp_path / "file")


def test_one_that_is_cut_off_while_it_is_read(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "file", {"x": np.zeros(9)})
    reader = SafetensorsReader(tmp_path / "file")
    os.truncate(tmp_path / "file", (tmp_path / "file").stat().st_size - 1)
    with pytest.raises(DataLossError, match="truncated: expected the 72 bytes of tensor 'x'"):
        reader.read("x")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="none"):
        SafetensorsReader(tmp_path / "none")
