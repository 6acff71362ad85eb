"""Bundles come back as they were written, survive crashes, and say what is wrong with them."""

import os
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from qanat.checkpoint.bundle_reader import BundleReader
from qanat.checkpoint.bundle_writer import remove_bundle, write_bundle
from qanat.core import dtypes
from qanat.core.errors import DataLossError, NotFoundError

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
