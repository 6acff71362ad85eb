"""Examples come in the order they should, from files that fit each other."""

import struct
from pathlib import Path

import numpy as np
import pytest

from qanat.models import synthetic
from qanat.models.data_files import DataError
from qanat.models.dataset import Examples, load


def numbered(count: int) -> Examples:
    return Examples(np.zeros((count, 28, 28), np.uint8), np.arange(count, dtype=np.int32))


def labels(batches: object) -> list[list[int]]:
    return [batch.labels.tolist() for batch in batches]  # type: ignore[attr-defined]


def test_batches_in_order() -> None:
    assert labels(numbered(5).batches(2)) == [[0, 1], [2, 3], [4]]
    assert labels(numbered(0).batches(2)) == []


def test_shuffled_batches_depend_on_seed_and_epoch() -> None:
    first = labels(numbered(100).shuffled_batches(10, seed=1, epoch=0))
    assert first == labels(numbered(100).shuffled_batches(10, seed=1, epoch=0))
    assert first != labels(numbered(100).shuffled_batches(10, seed=1, epoch=1))
    assert first != labels(numbered(100).shuffled_batches(10, seed=2, epoch=0))
    assert sorted(sum(first, [])) == list(range(100))


def test_shuffled_batches_can_go_on_anywhere() -> None:
    whole = labels(numbered(25).shuffled_batches(10, seed=1, epoch=3))
    assert len(whole) == 2
    assert labels(numbered(25).shuffled_batches(10, seed=1, epoch=3, skip=1)) == whole[1:]


def test_loading(tmp_path: Path) -> None:
    synthetic.write(tmp_path, 30, 10)
    training, test = load(str(tmp_path))
    expected = synthetic.examples(30, 1)
    np.testing.assert_array_equal(training.images, expected.images)
    np.testing.assert_array_equal(training.labels, expected.labels)
    assert training.labels.dtype == np.int32 and len(test) == 10


def test_a_missing_file(tmp_path: Path) -> None:
    synthetic.write(tmp_path, 3, 3)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"expected a file t10k-labels-idx1-ubyte or .*\.gz"):
        load(str(tmp_path))


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    synthetic.write(tmp_path, 3, 3)
    path = tmp_path / "train-labels-idx1-ubyte"  # Uncompressed files are preferred.
    path.write_bytes(struct.pack(">HBBI", 0, 8, 1, 2) + b"\0\1")
    with pytest.raises(
        DataError, match=r"train-labels.*each of the 3 images .*got the shape \[2\]"
    ):
        load(str(tmp_path))
    path.write_bytes(struct.pack(">HBBI", 0, 8, 1, 3) + b"\0\x0a\1")
    with pytest.raises(DataError, match=r"labels in \[0, 10\), got 10 at position 1"):
        load(str(tmp_path))
    path.unlink()
    (tmp_path / "train-images-idx3-ubyte").write_bytes(
        struct.pack(">HBB3I", 0, 8, 3, 1, 2, 2) + bytes(4)
    )
    with pytest.raises(DataError, match=r"expected images of 28x28, got the shape \[1, 2, 2\]"):
        load(str(tmp_path))
