"""What freezing does with branches, loops and files of checkpoints."""

from typing import Any

import numpy as np
import pytest

import qanat as qn
from qanat.core.session_config import SessionConfig
from qanat.core.target import LocalTarget
from qanat.mobile_runtime.freeze import Frozen, freeze


def run(frozen: Frozen, *feeds: Any) -> list[Any]:
    """What the frozen step gives."""
    _, compiled = LocalTarget(SessionConfig(threads=1)).compile(frozen.step)
    return compiled.run([np.asarray(feed, np.float32) for feed in feeds], 60.0)


@pytest.fixture(autouse=True)
def session() -> Any:
    with qn.Graph().as_default(), qn.Session() as session:
        yield session


def test_variables_are_read_from_the_file_of_a_checkpoint(session: Any, tmp_path: Any) -> None:
    x = qn.placeholder(qn.float32, [None, 2], name="x")
    w = qn.get_variable("layer/w", initializer=np.full((2, 1), 7, np.float32))
    session.run(w.initializer)
    prefix = qn.train.Saver().save(session, str(tmp_path / "model"))
    frozen = freeze(qn.train.load_checkpoint(prefix), {"x": x}, {"y": qn.matmul(x, w)})
    np.testing.assert_array_equal(run(frozen, [[1.0, 2.0]])[0], [[21]])


def test_a_branch_with_a_constant_predicate_is_the_branch(session: Any) -> None:
    x = qn.placeholder(qn.float32, [None, 4])
    training = qn.placeholder(qn.bool, [])
    noisy = qn.placeholder(qn.float32, [None, 4])
    fives = np.full((1, 4), 5.0, np.float32)
    y = qn.cond(training, lambda: x + noisy, lambda: qn.constant(fives))
    z = qn.cond(training, lambda: qn.constant(fives), lambda: x * 3.0)
    frozen = freeze(session, {"x": x}, {"y": y, "z": z}, fixed={training: False})
    assert [node.op for node in frozen.step if node.op not in ("_Arg", "Const")] == ["Mul"]
    values = run(frozen, [[1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(values[0], fives)
    np.testing.assert_array_equal(values[1], [[3, 6, 9, 12]])


@pytest.mark.parametrize("from_file", [False, True])
def test_a_variable_in_a_branch_with_a_constant_predicate(
    session: Any, tmp_path: Any, from_file: bool
) -> None:
    x = qn.placeholder(qn.float32, [None], name="x")
    training = qn.placeholder(qn.bool, [])
    v, w = qn.Variable(2.0, name="v"), qn.Variable(3.0, name="w")
    y = qn.cond(training, lambda: x * v, lambda: x * w)
    session.run(qn.global_variables_initializer())
    variables = session
    if from_file:
        prefix = qn.train.Saver().save(session, str(tmp_path / "model"))
        variables = qn.train.load_checkpoint(prefix)
    frozen = freeze(variables, {"x": x}, {"y": y}, batch_size=2, fixed={training: False})
    np.testing.assert_array_equal(run(frozen, [1.0, 2.0])[0], [3, 6])


def test_freezing_updates_nothing(session: Any) -> None:
    x = qn.placeholder(qn.float32, [], name="x")
    v = qn.Variable(2.0)
    updated = v.assign_add(1.0)
    session.run(v.initializer)
    frozen = freeze(session, {"x": x}, {"y": x * updated})
    np.testing.assert_array_equal(run(frozen, 5.0)[0], 10)
    assert session.run(v) == 2.0


def test_branches_that_a_run_decides_and_loops_are_refused(session: Any) -> None:
    x = qn.placeholder(qn.float32, [None, 4], name="x")
    here = __file__.rpartition("/")[2]
    with pytest.raises(qn.errors.UnimplementedError, match=f"Switch.*predicate.*{here}"):
        y = qn.cond(x[0, 0] > 0, lambda: x + 1.0, lambda: x)
        freeze(session, {"x": x}, {"y": y})
    with pytest.raises(qn.errors.UnimplementedError, match=f"no loop.*{here}"):
        y = qn.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [x[0, 0]])
        freeze(session, {"x": x}, {"y": y})
