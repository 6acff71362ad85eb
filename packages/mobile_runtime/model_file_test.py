"""Models survive their files; files that are none, cut, changed or too new are refused."""

import dataclasses
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qanat.core import dtypes
from qanat.core.crc32c import crc32c
from qanat.core.errors import DataLossError, UnimplementedError
from qanat.core.shapes import TensorShape
from qanat.mobile_runtime import model_format
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue
from qanat.mobile_runtime.model_file import read_model, write_model

ATTRS = {
    "bool": True,
    "int": -(2**63),
    "float": 0.1,
    "text": "naïve",
    "bytes": b"\xff\x00",
    "empty": "",
    "type": dtypes.bfloat16,
    "shape": TensorShape([2, None]),
    "no_shape": TensorShape(None),
    "scalar_shape": TensorShape([]),
    "tensor": np.arange(6, dtype=np.int16).reshape(2, 3),
    "ints": [1, -2, 2**63 - 1],
    "floats": [0.5, float("inf")],
    "types": [dtypes.int8, dtypes.string],
    "none": [],
}


def small_model() -> Model:
    """Not one that could run: it has something of everything."""
    constant = np.array([1, -2], ml_dtypes.bfloat16)
    return Model(
        values=(
            ModelValue("x:0", dtypes.float32, (2, 3), offset=0),
            ModelValue("c:0", dtypes.bfloat16, (2,), constant),
            ModelValue("y:0", dtypes.int8, (), offset=64),
            ModelValue("nothing:0", dtypes.float64, (0, 5), np.zeros((0, 5))),
        ),
        nodes=(
            ModelNode("first", "Op", (0, 1), (2,), ATTRS),
            ModelNode("second", "NoOp", (), (), {}),
        ),
        inputs={"images": 0},
        outputs={"classes": 2, "again": 2, "constant": 1},
        arena_bytes=128,
    )


def assert_same(actual: Model, expected: Model) -> None:
    def plain(model: Model) -> Model:
        values = tuple(dataclasses.replace(v, data=None) for v in model.values)
        nodes = tuple(
            dataclasses.replace(n, attrs={k: v for k, v in n.attrs.items() if k != "tensor"})
            for n in model.nodes
        )
        return dataclasses.replace(model, values=values, nodes=nodes)

    assert plain(actual) == plain(expected)
    for ours, theirs in zip(actual.values, expected.values, strict=True):
        assert (ours.data is None) == (theirs.data is None)
        if ours.data is not None:
            np.testing.assert_array_equal(ours.data, theirs.data, strict=True)
    for node, wanted in zip(actual.nodes, expected.nodes, strict=True):
        assert list(node.attrs) == sorted(wanted.attrs)
        if "tensor" in wanted.attrs:
            np.testing.assert_array_equal(node.attrs["tensor"], wanted.attrs["tensor"], strict=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "model"
    write_model(file, small_model())
    return file


def test_a_model_survives_its_file(path: Path) -> None:
    assert_same(read_model(path), small_model())


def test_the_empty_model_survives(tmp_path: Path) -> None:
    write_model(tmp_path / "empty", Model((), (), {}, {}))
    assert read_model(tmp_path / "empty") == Model((), (), {}, {})


def test_notes_between_passes_are_left_out(tmp_path: Path) -> None:
    node = ModelNode("n", "Op", (), (), {"_fused": object(), "N": 2})
    write_model(tmp_path / "m", Model((), (node,), {}, {}))
    assert read_model(tmp_path / "m").nodes[0].attrs == {"N": 2}


def test_constants_are_aligned_and_read_only(path: Path) -> None:
    data = read_model(path).values[1].data
    assert data is not None
    assert data.ctypes.data % model_format.ALIGNMENT == 0
    assert not data.flags.writeable


def test_the_same_model_is_the_same_file(path: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "again", small_model())
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again", "model"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ModelValue("v", dtypes.float32, (2,)), "data or a place"),
        (ModelValue("v", dtypes.float32, (2,), offset=32), "a place in the arena"),
        (ModelValue("v", dtypes.float32, (2,), offset=-64), "a place in the arena"),
        (ModelValue("v", dtypes.float32, (17,), offset=64), "a place in the arena of 128"),
        (ModelValue("v", dtypes.string, (2,), offset=0), "numbers or bools"),
        (ModelValue("v", dtypes.float32, (1,) * 9, offset=0), "8 dimensions"),
        (ModelValue("v", dtypes.float32, (-1,), offset=0), "none below 0"),
        (ModelValue("v", dtypes.float32, (2,), np.zeros(3, np.float32)), "data of float32"),
        (ModelValue("v", dtypes.float32, (2,), np.zeros(2, np.int32)), "data of float32"),
    ],
)
def test_a_value_that_could_not_be_read_is_not_written(
    path: Path, value: ModelValue, words: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        write_model(path, Model((value,), (), {}, {}, 128))
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["no/folder/model", "."])
def test_a_file_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError) as raised:
        write_model(tmp_path / name, small_model())
    assert raised.value.filename == str(tmp_path / name) and raised.value.filename2 is None
    assert list(tmp_path.iterdir()) == []


def test_an_attribute_that_no_kernel_reads_is_not_written(tmp_path: Path) -> None:
    node = ModelNode("n", "Op", (), (), {"names": ["a", "b"]})
    with pytest.raises(ValueError, match=r"\[Op\] expected attributes .* names"):
        write_model(tmp_path / "m", Model((), (node,), {}, {}))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    for contents in (b"", b"GIF89a", b"QANATMDL", bytes(100)):
        (tmp_path / "other").write_bytes(contents)
        with pytest.raises(DataLossError, match="model file"):
            read_model(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none")


def sealed(contents: bytearray) -> bytes:
    """With the checksum that belongs to it."""
    checksum = crc32c(memoryview(contents)[model_format.CHECKED_FROM :])
    contents[12:16] = checksum.to_bytes(4, "little")
    return bytes(contents)


def test_a_newer_version_says_so(path: Path) -> None:
    contents = bytearray(path.read_bytes())
    contents[8] = 2
    path.write_bytes(contents)
    with pytest.raises(UnimplementedError, match="version 1, got version 2"):
        read_model(path)


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_a_hostile_file_is_corrupt_and_no_worse(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("hostile") / "model"
    write_model(path, small_model())
    contents = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(16, len(contents) - 1))
        contents[at] = data.draw(st.integers(0, 255))
    path.write_bytes(sealed(contents))
    try:
        read_model(path)
    except (DataLossError, UnimplementedError):
        pass


def test_a_cut_file_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(DataLossError):
            read_model(path)
