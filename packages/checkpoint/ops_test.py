"""The checkpoint ops by themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qanat.checkpoint import kernels, ops
from qanat.core import dtypes, errors
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session

assert kernels


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def strings(*values: str) -> Any:
    return np.array([value.encode() for value in values], object)


def test_save_and_restore(session: Any, tmp_path: Path) -> None:
    prefix = str(tmp_path / "new" / "model")
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(b"text", object)
    session.run(ops.save_v2(prefix, strings("a", "b"), strings("", ""), [a, b]))
    types = [dtypes.string, dtypes.float32]
    restored = ops.restore_v2(prefix, strings("b", "a"), strings("", "2 3 1,1:-"), dtypes=types)
    text, row = session.run(restored)
    assert text == b"text" and row.tolist() == [[3, 4, 5]]


def test_slices(session: Any, tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    specs, halves = strings("4 0,2", "4 2,2"), [np.array([0, 1]), np.array([2, 3])]
    session.run(ops.save_v2(prefix, strings("x", "x"), specs, halves))
    (x,) = ops.restore_v2(prefix, strings("x"), strings(""), dtypes=[dtypes.int64])
    assert session.run(x).tolist() == [0, 1, 2, 3]


def test_sharded_filename(session: Any) -> None:
    assert session.run(ops.sharded_filename("a/part", 3, 12)) == b"a/part-00003-of-00012"


def test_merge_leaves_the_folder_of_the_parts_where_told(session: Any, tmp_path: Path) -> None:
    part = str(tmp_path / "parts" / "a")
    save = ops.save_v2(part, strings("x"), strings(""), [1.0])
    for delete in (False, True):
        session.run(save)
        session.run(
            ops.merge_v2_checkpoints(
                strings(part), str(tmp_path / "new" / "model"), delete_old_dirs=delete
            )
        )
        assert (tmp_path / "parts").exists() != delete


@pytest.mark.parametrize(
    ("names", "spec", "dtype", "kind", "message"),
    [
        ("y", "", dtypes.float32, errors.NotFoundError, "expected the tensors 'y'"),
        ("x", "", dtypes.int32, errors.InvalidArgumentError, "expected int32 for the tensor 'x'"),
        ("x", "3 -", dtypes.float32, errors.InvalidArgumentError, r"expected \[3\], got \[2\]"),
        ("x", "2", dtypes.float32, errors.InvalidArgumentError, "expected a slice such as"),
    ],
)
def test_restoring_what_is_not_there(
    session: Any, tmp_path: Path, names: str, spec: str, dtype: Any, kind: Any, message: str
) -> None:
    prefix = str(tmp_path / "model")
    session.run(ops.save_v2(prefix, strings("x"), strings(""), [np.zeros(2, np.float32)]))
    restored = ops.restore_v2(prefix, strings(names), strings(spec), dtypes=[dtype])
    with pytest.raises(kind, match=rf"^\[RestoreV2\] {message}"):
        session.run(restored)


def test_a_slice_that_is_no_slice_of_the_value(session: Any, tmp_path: Path) -> None:
    save = ops.save_v2(str(tmp_path / "model"), strings("x"), strings("4 0,2"), [np.zeros(3)])
    with pytest.raises(
        errors.InvalidArgumentError, match=r"expected \[2\], the shape of the slice"
    ):
        session.run(save)


def test_misuse(session: Any) -> None:
    with pytest.raises(errors.ShapeError, match="expected 1 tensor_names, one a tensor, got 2"):
        ops.save_v2("m", strings("a", "b"), strings(""), [1.0])
    with pytest.raises(errors.ShapeError, match="expected a scalar prefix"):
        ops.save_v2(strings("m"), strings("a"), strings(""), [1.0])
    names = placeholder(dtypes.string, [None])
    save = ops.save_v2("m", names, strings(""), [1.0])
    with pytest.raises(errors.InvalidArgumentError, match="expected 1 tensor_names"):
        session.run(save, {names: strings("a", "b")})
    with pytest.raises(errors.InvalidArgumentError, match="expected a prefix with a name"):
        session.run(ops.save_v2("folder/", strings("a"), strings(""), [1.0]))
