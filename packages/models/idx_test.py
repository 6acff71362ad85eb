"""IDX files are read as they are, and what is wrong with one is said by its name."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from qanat.models.data_files import DataError
from qanat.models.idx import read_idx


def idx(*shape: int) -> bytes:
    elements = bytes(i % 256 for i in range(int(np.prod(shape))))
    return struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + elements


@pytest.mark.parametrize("compress", [False, True])
def test_reading(tmp_path: Path, compress: bool) -> None:
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(idx(3, 4, 5)) if compress else idx(3, 4, 5))
    array = read_idx(str(path))
    assert array.dtype == np.uint8 and array.shape == (3, 4, 5)
    np.testing.assert_array_equal(array.reshape(-1), np.arange(60))


def test_no_elements(tmp_path: Path) -> None:
    path = tmp_path / "images"
    path.write_bytes(idx(0, 28, 28))
    assert read_idx(str(path)).shape == (0, 28, 28)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"", "expected an IDX header of 4 bytes, got 0"),
        (b"PK\x03\x04" + bytes(100), "expected the magic number.*got 50 4b 03 04"),
        (struct.pack(">HBBI", 0, 13, 1, 0), "expected the magic number"),  # float32
        (idx(2, 3)[:9], "truncated within its 2 dimensions"),
        (idx(2, 3)[:-1], r"truncated: expected 6 elements for the shape \[2, 3\], got 5"),
        (idx(2, 3) + b"x", "too long: expected 6 elements.*got 7"),
        (gzip.compress(idx(100))[:-9], "truncated: the compressed data ends too early"),
        (gzip.compress(idx(100))[:-8] + bytes(8), "corrupt: CRC check failed"),
        (b"\x1f\x8b\x08" + bytes(50), "corrupt"),
    ],
)
def test_a_bad_file(tmp_path: Path, contents: bytes, message: str) -> None:
    path = tmp_path / "train-images"
    path.write_bytes(contents)
    with pytest.raises(DataError, match=f"train-images: .*{message}"):
        read_idx(str(path))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing: No such file"):
        read_idx(str(tmp_path / "nothing"))
    with pytest.raises(DataError, match="Is a directory"):
        read_idx(str(tmp_path))
