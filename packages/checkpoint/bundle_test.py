"""Bundles come back as they were written, survive crashes, and say what is wrong with them."""

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qanat.checkpoint.bundle_index import read_index, write_index
from qanat.checkpoint.bundle_reader import BundleReader
from qanat.checkpoint.bundle_writer import (
    Piece,
    merge_bundles,
    remove_bundle,
    write_bundle,
    write_pieces,
)
from qanat.checkpoint.slices import parse_slice
from qanat.core import dtypes
from qanat.core.errors import DataLossError, InvalidArgumentError, NotFoundError

Array = np.ndarray[Any, Any]


def strings(*values: bytes) -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def prefix(folder: Path) -> str:
    return str(folder / "model")


TENSORS: dict[str, Array] = {
    "layer/kernel": np.arange(12, dtype=np.float32).reshape(3, 4),
    "layer/kernel/Momentum": np.arange(4, dtype=np.float64)[::-1],
    "step": np.asarray(np.int64(2**40)),
    "empty": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
    "half": np.array([1.5, -2], ml_dtypes.bfloat16),
    "words": strings(b"", b"abc", b"\0\xff" * 10),
    "ümlaut": np.array([1], np.int8),
}


def test_round_trip(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), TENSORS)
    reader = BundleReader(prefix(tmp_path))
    assert reader.names() == sorted(TENSORS)
    for name, expected in TENSORS.items():
        given = reader.read(name)
        assert given.dtype == expected.dtype and given.shape == expected.shape
        assert reader.shape(name) == expected.shape
        np.testing.assert_array_equal(given, expected)


def test_reads_what_tensorflow_wrote() -> None:
    """testdata/tensorflow.* were written by `tf.compat.v1.train.Saver` of TensorFlow 2.21."""
    reader = BundleReader(str(Path(__file__).parent / "testdata/tensorflow"))
    np.testing.assert_array_equal(
        reader.read("layer/kernel"), np.arange(6, dtype=np.float32).reshape(2, 3) / 4
    )
    np.testing.assert_array_equal(reader.read("layer/bias"), [-1, 0.5])
    assert reader.dtype("layer/bias") is dtypes.float64
    assert reader.read("global_step") == 7 and reader.shape("global_step") == ()
    assert list(reader.read("words")) == [b"abc", b"", b"\x00\xff" * 100]
    assert reader.dtype("half") is dtypes.bfloat16
    np.testing.assert_array_equal(reader.read("half").astype(np.float32), [1.5, -2])


def test_writing_again_replaces(tmp_path: Path) -> None:
    for value in range(4):
        write_bundle(prefix(tmp_path), {"x": np.array([value])})
        assert BundleReader(prefix(tmp_path)).read("x") == value
        assert len(os.listdir(tmp_path)) == 2


def test_removing(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), TENSORS)
    write_bundle(str(tmp_path / "model2"), TENSORS)
    remove_bundle(prefix(tmp_path))
    remove_bundle(prefix(tmp_path))
    assert all(name.startswith("model2") for name in os.listdir(tmp_path))


class Crash(BaseException):
    """The machine stops here."""


@pytest.mark.parametrize("operation", ["fsync", "replace", "unlink"])
def test_a_crash_leaves_the_old_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """A crash at each call of the file system in turn: what is on disk then is a whole bundle."""
    old, new = {"x": np.full(1000, 1.0)}, {"x": np.full(1000, 2.0), "y": np.zeros(3)}
    write_bundle(prefix(tmp_path / "."), old)
    seen = []
    for crash_at in range(20):
        folder = tmp_path / f"{crash_at}"
        folder.mkdir()
        write_bundle(prefix(folder), old)
        with monkeypatch.context() as patched:
            calls = _crash_at(patched, operation, crash_at)
            try:
                write_bundle(prefix(folder), new)
            except Crash:
                pass
            else:
                break
        reader = BundleReader(prefix(folder))
        value = reader.read("x")[0]
        seen.append(value)
        assert value == (2.0 if "y" in reader.names() else 1.0)
        write_bundle(prefix(folder), new)  # Nothing that the crash left behind is in the way.
        assert BundleReader(prefix(folder)).read("x")[0] == 2.0
    assert len(calls) == crash_at > 0
    assert seen == sorted(seen)


def _crash_at(patched: pytest.MonkeyPatch, operation: str, number: int) -> list[str]:
    """Lets a call of os.<operation> raise, and all that follow: a crash cleans nothing up."""
    calls: list[str] = []
    crashed: list[bool] = []

    def wrap(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any) -> Any:
            if crashed or (name == operation and len(calls) == number):
                crashed.append(True)
                raise Crash
            if name == operation:
                calls.append(name)
            return real(*args)

        patched.setattr(os, name, call)

    for name in ("fsync", "replace", "unlink"):
        wrap(name)
    return calls


def test_a_full_disk_leaves_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(prefix(tmp_path), {"x": np.array([1.0])})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bundle(prefix(tmp_path), {"x": np.array([2.0])})
    assert BundleReader(prefix(tmp_path)).read("x") == 1.0
    assert len(os.listdir(tmp_path)) == 2


def data_file(folder: Path) -> Path:
    (path,) = folder.glob("model.data-*")
    return path


def test_a_flipped_bit_names_file_and_tensor(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), TENSORS)
    path = data_file(tmp_path)
    contents = path.read_bytes()
    noticed = set()
    for position in range(len(contents)):
        changed = bytearray(contents)
        changed[position] ^= 1
        path.write_bytes(changed)
        reader = BundleReader(prefix(tmp_path))
        wrong = []
        for name in reader.names():
            try:
                reader.read(name)
            except DataLossError as error:
                assert path.name in str(error) and repr(name) in str(error)
                wrong.append(name)
        assert len(wrong) == 1
        noticed.update(wrong)
    assert noticed == {name for name, value in TENSORS.items() if value.size}


def test_a_truncated_data_file(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), {"a": np.zeros(8), "b": np.ones(8)})
    os.truncate(data_file(tmp_path), 100)
    reader = BundleReader(prefix(tmp_path))
    reader.read("a")
    with pytest.raises(DataLossError, match=r"model\.data-.*truncated.*64 bytes of tensor 'b'"):
        reader.read("b")


def test_a_missing_data_file(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), {"a": np.zeros(8)})
    data_file(tmp_path).unlink()
    with pytest.raises(DataLossError, match="tensor 'a': found no file"):
        BundleReader(prefix(tmp_path)).read("a")


def test_a_corrupt_or_missing_index(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), TENSORS)
    index = tmp_path / "model.index"
    contents = index.read_bytes()
    index.write_bytes(contents[:40] + bytes([contents[40] ^ 4]) + contents[41:])
    with pytest.raises(DataLossError, match=r"model\.index is corrupt: expected the checksum"):
        BundleReader(prefix(tmp_path))
    index.write_bytes(contents[:-1])
    with pytest.raises(DataLossError, match=r"model\.index is corrupt"):
        BundleReader(prefix(tmp_path))
    index.unlink()
    with pytest.raises(NotFoundError, match=r"found no file .*model\.index"):
        BundleReader(prefix(tmp_path))


def test_a_folder_that_does_not_exist() -> None:
    with pytest.raises(FileNotFoundError):
        write_bundle("/nowhere/at/all/model", TENSORS)


def test_a_prefix_with_characters_of_patterns(tmp_path: Path) -> None:
    path = str(tmp_path / "model[1]*")
    write_bundle(path, {"x": np.array([1])})
    write_bundle(path, {"x": np.array([2])})
    assert BundleReader(path).read("x") == 2
    assert len(os.listdir(tmp_path)) == 2


def test_reads_slices_and_shards_that_tensorflow_wrote() -> None:
    """testdata/partitioned.* were written by a sharded `Saver` of TensorFlow 2.21: "table" in three
    slices by row, "wide" in two by column, "bb" on a second device.
    """
    reader = BundleReader(str(Path(__file__).parent / "testdata/partitioned"))
    assert reader.names() == ["a", "bb", "table", "wide"]
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    np.testing.assert_array_equal(reader.read("table"), table)
    np.testing.assert_array_equal(reader.read("wide"), np.arange(200).reshape(2, 100))
    assert reader.read("bb") == 2.5 and reader.read("a").tolist() == [0, 1, 2]
    given = reader.read("table", parse_slice("6 4 1,3:2,2"))
    np.testing.assert_array_equal(given, table[1:4, 2:])


def sliced(folder: Path, name: str, *specs: str) -> str:
    """A bundle with slices of a 6 x 4 matrix."""
    whole = np.arange(24, dtype=np.float32).reshape(6, 4)
    blocks = [parse_slice(spec) for spec in specs]
    write_pieces(str(folder / name), [Piece("x", whole[block.index], block) for block in blocks])
    return str(folder / name)


def test_slices_come_back_whole(tmp_path: Path) -> None:
    reader = BundleReader(sliced(tmp_path, "model", "6 4 0,2:-", "6 4 2,4:0,1", "6 4 2,4:1,3"))
    np.testing.assert_array_equal(reader.read("x"), np.arange(24).reshape(6, 4))
    assert reader.names() == ["x"] and reader.shape("x") == (6, 4)


def test_a_slice_that_is_missing(tmp_path: Path) -> None:
    reader = BundleReader(sliced(tmp_path, "model", "6 4 0,2:-", "6 4 2,3:-"))
    with pytest.raises(DataLossError, match="expected all slices of tensor 'x'"):
        reader.read("x")


def test_a_slice_of_another_shape(tmp_path: Path) -> None:
    write_bundle(prefix(tmp_path), {"x": np.zeros((6, 4))})
    with pytest.raises(InvalidArgumentError, match=r"expected \[4, 6\], got \[6, 4\] as the shape"):
        BundleReader(prefix(tmp_path)).read("x", parse_slice("4 6 -:-"))


def test_merging(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    write_bundle(str(folder / "a"), {"a": np.arange(3), "b": np.ones(2)})
    write_bundle(str(folder / "c"), {"c": np.arange(5)})
    sliced(folder, "x1", "6 4 0,2:-")
    sliced(folder, "x2", "6 4 2,4:-")
    parts = [str(folder / name) for name in ("a", "c", "x1", "x2")]
    merge_bundles(parts, prefix(tmp_path))
    reader = BundleReader(prefix(tmp_path))
    assert reader.names() == ["a", "b", "c", "x"]
    assert reader.read("a").tolist() == [0, 1, 2] and reader.read("c").tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(reader.read("x"), np.arange(24).reshape(6, 4))
    assert os.listdir(folder) == [] and len(list(tmp_path.glob("model.data-*-of-00004"))) == 4


def test_merging_over_an_old_bundle(tmp_path: Path) -> None:
    for value in range(3):
        parts = []
        for name in "ab":
            parts.append(str(tmp_path / f"part_{name}"))
            write_bundle(parts[-1], {name: np.array([value])})
        merge_bundles(parts, prefix(tmp_path))
        reader = BundleReader(prefix(tmp_path))
        assert reader.read("a") == reader.read("b") == value
        assert len(os.listdir(tmp_path)) == 3


def test_merging_what_does_not_fit(tmp_path: Path) -> None:
    write_bundle(str(tmp_path / "a"), {"x": np.zeros(1)})
    write_bundle(str(tmp_path / "b"), {"x": np.ones(1)})
    with pytest.raises(InvalidArgumentError, match="expected names that differ, got 'x' twice"):
        merge_bundles([str(tmp_path / "a"), str(tmp_path / "b")], prefix(tmp_path))
    with pytest.raises(NotFoundError, match=r"found no file .*c\.index"):
        merge_bundles([str(tmp_path / "a"), str(tmp_path / "c")], prefix(tmp_path))
    assert BundleReader(str(tmp_path / "a")).read("x") == 0  # Nothing has moved.
    merge_bundles([str(tmp_path / "a"), str(tmp_path / "c")], prefix(tmp_path), allow_missing=True)
    assert BundleReader(prefix(tmp_path)).read("x") == 0


def test_two_pieces_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="got 'x' twice"):
        write_pieces(prefix(tmp_path), [Piece("x", np.zeros(1)), Piece("x", np.ones(1))])
    assert os.listdir(tmp_path) == []


def test_an_index_that_asks_for_more_than_there_is(tmp_path: Path) -> None:
    """No memory is taken for it."""
    write_bundle(prefix(tmp_path), {"x": np.zeros(8, np.int8)})
    index = read_index(prefix(tmp_path))
    entry = index.entries[b"x"]
    entry.size = 1 << 50
    write_index(prefix(tmp_path), index)
    with pytest.raises(DataLossError, match="expected 8 bytes of tensor 'x'"):
        BundleReader(prefix(tmp_path)).read("x")
    entry.shape.dim[0].size = 1 << 50
    write_index(prefix(tmp_path), index)
    with pytest.raises(DataLossError, match="truncated: expected the 1125899906842624 bytes"):
        BundleReader(prefix(tmp_path)).read("x")
