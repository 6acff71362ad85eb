"""Variables survive in checkpoints; what does not fit is said by name."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qanat.checkpoint import (
    Saver,
    best_checkpoint,
    latest_checkpoint,
    load_checkpoint,
    restore_matching,
)
from qanat.checkpoint.bundle_reader import BundleReader
from qanat.core import dtypes
from qanat.core.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)
from qanat.core.graph import Graph, device
from qanat.core.session import Session
from qanat.ops.variables import Variable, global_variables_initializer


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def initialized(session: Any) -> None:
    session.run(global_variables_initializer())


def test_save_and_restore(session: Any, tmp_path: Path) -> None:
    kernel = Variable(np.arange(6, dtype=np.float32).reshape(2, 3), name="layer/kernel")
    step = Variable(np.int64(7), name="step")
    initialized(session)
    saver = Saver()
    path = saver.save(session, str(tmp_path / "new" / "model"))
    session.run([kernel.assign(np.zeros((2, 3), np.float32)), step.assign(np.int64(0))])
    saver.restore(session, path)
    np.testing.assert_array_equal(session.run(kernel), np.arange(6).reshape(2, 3))
    assert session.run(step) == 7


def test_another_session_and_graph(session: Any, tmp_path: Path) -> None:
    Variable([1.0, 2.0], name="x")
    initialized(session)
    path = Saver().save(session, str(tmp_path / "model"), global_step=3)
    assert path == str(tmp_path / "model-3") == latest_checkpoint(str(tmp_path))
    with Graph().as_default(), Session() as other:
        x = Variable([0.0, 0.0], name="x")
        Saver().restore(other, path)  # Without any initializer.
        np.testing.assert_array_equal(other.run(x), [1, 2])


def test_a_finalized_graph(session: Any, tmp_path: Path) -> None:
    x = Variable(1.0)
    saver = Saver()
    init = global_variables_initializer()
    session.graph.finalize()
    session.run(init)
    saver.restore(session, saver.save(session, str(tmp_path / "model")))
    assert session.run(x) == 1.0


def test_names_of_ones_own(session: Any, tmp_path: Path) -> None:
    x = Variable(1.0, name="x")
    initialized(session)
    path = Saver({"old_name": x}).save(session, str(tmp_path / "model"))
    y = Variable(0.0, name="y")
    Saver({"old_name": y}).restore(session, path)
    assert session.run(y) == 1.0


def test_a_part_of_the_variables(session: Any, tmp_path: Path) -> None:
    x, y = Variable(1.0, name="x"), Variable(2.0, name="y")
    initialized(session)
    path = Saver().save(session, str(tmp_path / "model"))
    session.run([x.assign(0.0), y.assign(0.0)])
    Saver([y]).restore(session, path)
    assert session.run([x, y]) == [0.0, 2.0]


def test_old_checkpoints_go(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    initialized(session)
    saver = Saver(max_to_keep=2)
    for step in range(4):
        saver.save(session, str(tmp_path / "model"), step)
    assert [Path(path).name for path in saver.last_checkpoints] == ["model-2", "model-3"]
    kept = {name.partition(".")[0] for name in os.listdir(tmp_path)}
    assert kept == {"checkpoint", "model-2", "model-3"}


def test_checkpoints_of_an_earlier_run_go_too(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    initialized(session)
    earlier = Saver()
    paths = [earlier.save(session, str(tmp_path / "model"), step) for step in range(2)]
    later = Saver(max_to_keep=2)
    later.recover_last_checkpoints([*paths, str(tmp_path / "gone")])
    later.save(session, str(tmp_path / "model"), 2)
    assert [Path(path).name for path in later.last_checkpoints] == ["model-1", "model-2"]


def test_all_are_kept_and_none_is_noted(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    initialized(session)
    saver = Saver(max_to_keep=None)
    for step in range(7):
        saver.save(session, str(tmp_path / "model"), step, write_state=False)
    assert len(saver.last_checkpoints) == 7
    assert latest_checkpoint(str(tmp_path)) is None


# What does not fit.


def test_missing_and_left_over_variables_are_named(session: Any, tmp_path: Path) -> None:
    Variable(1.0, name="renamed")
    Variable(1.0, name="same")
    initialized(session)
    path = Saver().save(session, str(tmp_path / "model"))
    with Graph().as_default(), Session() as other:
        same = Variable(5.0, name="same")
        Variable(1.0, name="new_name")
        initialized(other)
        with pytest.raises(NotFoundError, match="'new_name'.*left over in it: 'renamed'"):
            Saver().restore(other, path)
        assert other.run(same) == 5.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.zeros(3, np.float32), r"float32 \[3\] for the variable 'x', got float32 \[2\]"),
        (np.zeros(2, np.float64), r"float64 \[2\] for the variable 'x', got float32 \[2\]"),
    ],
)
def test_another_shape_or_dtype(session: Any, tmp_path: Path, value: Any, message: str) -> None:
    Variable([1.0, 2.0], name="x")
    initialized(session)
    path = Saver().save(session, str(tmp_path / "model"))
    with Graph().as_default(), Session() as other:
        Variable(value, name="x")
        with pytest.raises(InvalidArgumentError, match=message) as raised:
            Saver().restore(other, path)
        assert "saver_test.py" in str(raised.value.user_line)


def test_a_flipped_bit_changes_nothing(session: Any, tmp_path: Path) -> None:
    a, b = Variable(np.zeros(100), name="a"), Variable(np.zeros(100), name="b")
    initialized(session)
    saver = Saver()
    path = saver.save(session, str(tmp_path / "model"))
    session.run([a.assign(np.ones(100)), b.assign(np.ones(100))])
    (data,) = tmp_path.glob("model.data-*")
    contents = bytearray(data.read_bytes())
    contents[-1] ^= 1
    data.write_bytes(contents)
    with pytest.raises(DataLossError, match="'b'"):
        saver.restore(session, path)
    assert session.run(a)[0] == 1 and session.run(b)[0] == 1


def test_no_such_checkpoint(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    with pytest.raises(NotFoundError, match="expected a checkpoint, found no file"):
        Saver().restore(session, str(tmp_path / "model"))


@pytest.mark.parametrize(
    ("suffix", "hint"),
    [
        (".index", "named by the prefix of its files, .*/model$"),
        (".data-00000-of-00001", "named by the prefix of its files, .*/model$"),
        (".safetensors", "restore_matching and load_safetensors read files of safetensors"),
    ],
)
def test_a_file_in_place_of_a_prefix(suffix: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="expected a checkpoint, found no file .*; .*" + hint):
        load_checkpoint(tmp_path / f"model{suffix}")


def test_arguments_of_another_kind(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    saver = Saver()
    none = r"expected a checkpoint's path, got None .*: latest_checkpoint gives that"
    restores: list[Any] = [saver.restore, restore_matching]
    for restore in restores:
        with pytest.raises(TypeError, match=none):
            restore(session, latest_checkpoint(str(tmp_path)))
    with pytest.raises(TypeError, match=none):
        load_checkpoint(None)  # type: ignore[arg-type]
    swaps: list[Any] = [saver.save, saver.restore]
    for swapped in swaps:
        with pytest.raises(TypeError, match=r"\[Saver\] expected a session first, got '"):
            swapped(str(tmp_path / "model"), session)
    with pytest.raises(TypeError, match="expected a checkpoint's path, got 3 of type int"):
        saver.save(session, 3)  # type: ignore[arg-type]


def test_an_uninitialized_variable(session: Any, tmp_path: Path) -> None:
    Variable(1.0, name="forgotten")
    with pytest.raises(FailedPreconditionError, match="forgotten"):
        Saver().save(session, str(tmp_path / "model"))
    assert os.listdir(tmp_path) == []


def test_misuse() -> None:
    with pytest.raises(ValueError, match="expected variables to save, got none"):
        Saver()
    x = Variable(1.0)
    with pytest.raises(ValueError, match="expected names that differ"):
        Saver([x, x])
    with pytest.raises(TypeError, match="expected variables to save, got 3"):
        Saver([3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected variables to save, got 'x'"):
        Saver({"x": "x"})  # type: ignore[arg-type]


def test_paths(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    initialized(session)
    saver = Saver()
    for path in (f"{tmp_path}/folder/", ""):
        with pytest.raises(ValueError, match="expected a save_path with a name at its end"):
            saver.save(session, path)
    assert os.listdir(tmp_path) == []
    saver.save(session, tmp_path / "model")
    saver.restore(session, tmp_path / "model")


def test_dtypes(session: Any, tmp_path: Path) -> None:
    values = [
        np.array([1.5], dtypes.bfloat16.as_numpy),
        np.array([True, False]),
        np.zeros((0, 4), np.int32),
        np.array([2**63 - 1]),
    ]
    variables = [Variable(value) for value in values]
    initialized(session)
    saver = Saver()
    saver.restore(session, saver.save(session, str(tmp_path / "model")))
    for given, value in zip(session.run(variables), values, strict=True):
        assert given.dtype == value.dtype
        np.testing.assert_array_equal(given, value)


# Devices.


def on_two_devices() -> tuple[Variable, Variable]:
    with device("/cpu:0"):
        a = Variable(np.arange(4.0), name="a")
    with device("/job:localhost/task:0"):
        return a, Variable(np.arange(6, dtype=np.int32).reshape(2, 3), name="b")


def test_a_file_a_device(session: Any, tmp_path: Path) -> None:
    a, b = on_two_devices()
    initialized(session)
    saver = Saver(sharded=True)
    for _ in range(2):
        path = saver.save(session, str(tmp_path / "model"))
        assert len(list(tmp_path.glob("model.data-*"))) == 2
        assert len(os.listdir(tmp_path)) == 4  # No part and no folder of parts is left.
    assert BundleReader(path).read("a").tolist() == [0, 1, 2, 3]
    session.run([a.assign(np.zeros(4)), b.assign(np.zeros((2, 3), np.int32))])
    saver.restore(session, path)
    assert session.run(a).tolist() == [0, 1, 2, 3] and session.run(b).sum() == 15
    Saver().restore(session, path)


def test_the_ops_are_those_of_tensorflow(session: Any) -> None:
    on_two_devices()
    Saver()
    Saver(sharded=True, name="save_1")
    made = {op.type: op for op in session.graph.get_operations() if op.name.startswith("save")}
    for name in ("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename"):
        assert name in made
    assert session.graph.get_tensor_by_name("save/Const:0").dtype is dtypes.string
    assert session.graph.get_operation_by_name("save/restore_all")


def test_a_flipped_bit_in_one_shard_changes_nothing(session: Any, tmp_path: Path) -> None:
    a, b = on_two_devices()
    initialized(session)
    saver = Saver(sharded=True)
    path = saver.save(session, str(tmp_path / "model"))
    session.run([a.assign(np.ones(4)), b.assign(np.ones((2, 3), np.int32))])
    shard = tmp_path / "model.data-00001-of-00002"
    contents = bytearray(shard.read_bytes())
    contents[0] ^= 1
    shard.write_bytes(contents)
    with pytest.raises(DataLossError, match=r"\[RestoreV2\] .*model\.data-00001.*tensor '[ab]'"):
        saver.restore(session, path)
    assert np.all(session.run(a) == 1) and np.all(session.run(b) == 1)


# What is kept.


def test_the_best_are_kept_across_runs(session: Any, tmp_path: Path) -> None:
    Variable(1.0)
    initialized(session)
    saver = Saver(max_to_keep=1, best_to_keep=2)
    for step, metric in enumerate([0.5, 0.9, 0.7, 0.1]):
        saver.save(session, str(tmp_path / "model"), step, metric=metric)
    assert [Path(p).name for p in saver.best_checkpoints] == ["model-1", "model-2"]
    kept = {p.name for p in tmp_path.glob("*.index")}
    assert kept == {"model-1.index", "model-2.index", "model-3.index"}
    assert best_checkpoint(tmp_path) == str(tmp_path / "model-1")

    later = Saver(max_to_keep=1, best_to_keep=2)
    later.recover_last_checkpoints(saver.last_checkpoints)
    later.save(session, str(tmp_path / "model"), 4, metric=0.8)
    kept = {p.name for p in tmp_path.glob("*.index")}
    assert kept == {"model-1.index", "model-4.index"}
    with pytest.raises(ValueError, match="expected a metric that is a number"):
        later.save(session, str(tmp_path / "model"), 5, metric=float("nan"))


def test_reshaping(session: Any, tmp_path: Path) -> None:
    Variable(np.arange(6.0), name="x")
    initialized(session)
    path = Saver().save(session, str(tmp_path / "model"))
    with Graph().as_default(), Session() as other:
        x = Variable(np.zeros((2, 3)), name="x")
        Saver(reshape=True).restore(other, path)
        np.testing.assert_array_equal(other.run(x), np.arange(6.0).reshape(2, 3))
        with pytest.raises(InvalidArgumentError, match=r"expected float64 \[2,3\]"):
            Saver().restore(other, path)


def test_a_full_disk(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = Variable(1.0)
    initialized(session)
    saver = Saver()
    path = saver.save(session, str(tmp_path / "model"))
    session.run(x.assign(2.0))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ResourceExhaustedError, match=r"\[SaveV2\].*No space left"):
            saver.save(session, str(tmp_path / "model"))
    saver.restore(session, path)
    assert session.run(x) == 1.0
