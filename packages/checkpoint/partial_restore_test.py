"""What fits is restored, and the report says the rest."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qanat.checkpoint import Saver, restore_matching, save_safetensors
from qanat.core.errors import DataLossError, NotFoundError
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.ops.variables import Variable, global_variables_initializer


@pytest.fixture
def path(tmp_path: Path) -> str:
    with Graph().as_default(), Session() as session:
        Variable(np.arange(3.0), name="old/kernel")
        Variable(np.ones(2), name="bias")
        Variable(np.zeros(5), name="head")
        Variable(7, name="step")
        session.run(global_variables_initializer())
        return Saver().save(session, str(tmp_path / "model"))


@pytest.fixture
def session() -> Any:
    with Graph().as_default(), Session() as session:
        Variable(np.zeros(3), name="new/kernel")
        Variable(np.zeros(2), name="bias")
        Variable(np.full(4, 9.0), name="head")
        Variable(5.0, name="step")
        Variable(6.0, name="extra")
        session.run(global_variables_initializer())
        yield session


def value(session: Any, name: str) -> Any:
    return session.run(f"{name}/Read/ReadVariableOp:0")


def test_the_report(session: Any, path: str) -> None:
    report = restore_matching(session, path, name_map={"new/kernel": "old/kernel"})
    assert report.matched == {"new/kernel": "old/kernel", "bias": "bias"}
    assert report.missing == ["extra"] and report.left_over == []
    assert [(m.variable, m.expected, m.found) for m in report.misfits] == [
        ("head", "float64 [4]", "float64 [5]"),
        ("step", "float32 []", "int32 []"),
    ]
    assert value(session, "new/kernel").tolist() == [0, 1, 2]
    assert value(session, "bias").tolist() == [1, 1]
    assert value(session, "head").tolist() == [9] * 4 and value(session, "extra") == 6
    text = str(report).splitlines()
    assert text[0] == f"{path}: 2 matched, 1 missing, 2 of another kind, 0 left over"
    assert "  = new/kernel <- old/kernel" in text and "  - extra: missing" in text
    assert "  ! head <- head: expected float64 [4], got float64 [5]" in text


def test_without_a_map_the_renamed_is_left_over(session: Any, path: str) -> None:
    report = restore_matching(session, path)
    assert report.missing == ["new/kernel", "extra"] and report.left_over == ["old/kernel"]
    assert "  + old/kernel: left over" in str(report)


def test_a_map_that_is_a_function_and_some_variables(session: Any, path: str) -> None:
    kernel = session.graph.get_collection("variables")[0]
    report = restore_matching(session, path, [kernel], lambda name: name.replace("new", "old"))
    assert report.matched == {"new/kernel": "old/kernel"}
    assert report.left_over == ["bias", "head", "step"]


def test_from_safetensors(session: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    save_safetensors(file, {"bias": np.array([3.0, 4.0]), "other": np.zeros(1)})
    report = restore_matching(session, file)
    assert report.matched == {"bias": "bias"} and report.left_over == ["other"]
    assert value(session, "bias").tolist() == [3, 4]


def test_a_corrupt_tensor_changes_nothing(session: Any, path: str, tmp_path: Path) -> None:
    (data,) = tmp_path.glob("model.data-*")
    contents = bytearray(data.read_bytes())
    contents[0] ^= 1
    data.write_bytes(contents)
    before = value(session, "bias").tolist()
    with pytest.raises(DataLossError, match="tensor 'bias'"):
        restore_matching(session, path)
    assert value(session, "bias").tolist() == before


def test_no_such_file(session: Any, tmp_path: Path) -> None:
    for name in ("model", "model.safetensors"):
        with pytest.raises(NotFoundError, match=name):
            restore_matching(session, tmp_path / "none" / name)
