"""Where things run on a machine that has a GPU: what users ask for, and what they need not know."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import qanat as qn
from qanat import kernels_cuda
from qanat.core.passes.step_graph import Node
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.ops.state import read_variable_op, var_handle_op, var_is_initialized_op

GPU = "/device:GPU:0"
SOFT = qn.SessionConfig(allow_soft_placement=True)


@pytest.fixture(autouse=True)
def driver() -> Iterator[EmulatedDriver]:
    made = EmulatedDriver()
    with kernels_cuda.DEVICES.using(made), qn.Graph().as_default():
        yield made
    made.check_memory()


def nodes(session: qn.Session) -> list[Node]:
    """Of all steps that the session has run."""
    return [node for plan in session._plans.values() for node in plan.step]


def device_of(session: qn.Session, name: str) -> set[str]:
    return {n.device.rpartition("/device:")[2] for n in nodes(session) if n.name == name}


def test_what_has_a_kernel_runs_on_the_gpu() -> None:
    x = qn.placeholder(qn.float32, [2], name="x")
    y = qn.exp(x, name="y")
    with qn.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: [0, 1]}), np.exp([0, 1]), rtol=1e-6)
        assert device_of(session, "y") == {"GPU:0"}


def test_what_is_asked_to_be_on_the_cpu_is() -> None:
    with qn.device("/cpu:0"):
        y = qn.exp(qn.constant([1.0, 2.0]), name="y")
    with qn.Session() as session:
        session.run(y)
        assert device_of(session, "y") == {"CPU:0"}


def test_values_go_to_and_fro() -> None:
    x = qn.placeholder(qn.float32, [3])
    with qn.device(GPU):
        a = qn.exp(x)
    with qn.device("/cpu:0"):
        b = a + 1.0
        c = qn.sqrt(b)
    with qn.device(GPU):
        y = c * a
    fed = np.array([0.0, 1.0, 2.0], np.float32)
    with qn.Session(config=qn.SessionConfig(threads=2)) as session:
        for _ in range(3):
            expected = np.sqrt(np.exp(fed) + 1) * np.exp(fed)
            np.testing.assert_allclose(session.run(y, {x: fed}), expected, rtol=1e-6)
        assert sum(node.op == "_DeviceSegment" for node in nodes(session)) == 2


def test_no_kernel_for_a_gpu() -> None:
    with qn.device(GPU):
        y = qn.concat([[1.0], [2.0]], 0, name="y")
    with qn.Session() as session, pytest.raises(qn.errors.InvalidArgumentError, match="'y' on"):
        session.run(y)
    with qn.Session(config=SOFT) as session:
        np.testing.assert_array_equal(session.run(y), [1, 2])


def test_a_variable_is_where_all_of_the_graph_can_use_it() -> None:
    v = qn.Variable(np.int64(1), name="v")
    add = v.assign_add(np.int64(2))  # for which a GPU has no kernel, though it has for all else
    with qn.Session() as session:
        session.run(v.initializer)
        session.run(add)
        assert session.run(v) == 3
        assert device_of(session, "v") == {"CPU:0"}


def test_a_variable_stays_where_it_was_made() -> None:
    v = qn.get_variable("v", initializer=qn.constant([1.0, 2.0]))
    read = v + 0.0
    with qn.Session() as session:
        session.run(v.initializer)
        _, counted = qn.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x + 1.0), [0, qn.constant(0.0)]
        )
        assert session.run(counted) == 3
        np.testing.assert_array_equal(session.run(read), [1, 2])
        assert device_of(session, "v") == {"GPU:0"}


def test_soft_placement_leaves_a_variable_where_it_was_made() -> None:
    v = qn.get_variable("v", initializer=qn.constant([1.0, 2.0]))
    with qn.Session(config=SOFT) as session:
        session.run(v.initializer)
        qn.while_loop(lambda i: i < 3, lambda i: i + 1, [0])  # from now on the CPU comes first
        with qn.device("/cpu:0"):
            read = read_variable_op(v.handle, dtype=qn.float32)
        np.testing.assert_array_equal(session.run(read), [1, 2])
        assert device_of(session, "v") == {"GPU:0"}


def test_closing_a_session_frees_its_variables(driver: EmulatedDriver) -> None:
    (gpu,) = kernels_cuda.DEVICES._find()
    v = qn.get_variable("v", initializer=qn.zeros([1000]))
    session = qn.Session()
    session.run(v.initializer)
    held = session.prepare(v + 1.0)  # the caller keeps the step, and with it what it refers to
    held()
    before = gpu.pool.reserved - gpu.pool.idle
    session.close()
    assert before - (gpu.pool.reserved - gpu.pool.idle) >= 4000
    with pytest.raises(qn.errors.CancelledError):
        held()


def test_a_step_during_which_its_session_is_closed(
    driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cancelled at what it next asks of a variable."""
    v = qn.get_variable("v", initializer=qn.zeros([20, 20]))
    x = qn.placeholder(qn.float32, [20, 20])
    session = qn.Session()
    session.run(v.initializer)
    held = session.prepare(v.assign_add(qn.matmul(x, x)).op, [x])
    fed = np.ones((20, 20), np.float32)
    held(fed)
    launch = driver.launch

    def closing(function: Any, *how: Any) -> None:
        launch(function, *how)
        if function[0].startswith("matmul"):
            closer.submit(session.close).result(10)

    with ThreadPoolExecutor(1) as closer:
        monkeypatch.setattr(driver, "launch", closing)
        with pytest.raises(qn.errors.CancelledError, match="the session was closed"):
            held(fed)


@pytest.mark.parametrize("count", [60, 90])
def test_a_sum_of_many(count: int) -> None:
    terms = [qn.placeholder(qn.float32, [3]) for _ in range(count)]
    total = qn.tanh(qn.add_n(terms) * 0.001)
    values = [np.full(3, i, np.float32) for i in range(count)]
    with qn.Session() as session:
        got = session.run(total, dict(zip(terms, values, strict=True)))
    np.testing.assert_allclose(got, np.tanh(sum(values) * 0.001), rtol=1e-5)


def test_a_graph_with_a_loop_stays_on_the_cpu() -> None:
    v = qn.get_variable("v", initializer=qn.constant([1.0, 2.0]))
    _, total = qn.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + v), [0, v * 0.0])
    with qn.Session() as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(total), [3, 6])
        assert device_of(session, "v") == {"CPU:0"}


def test_a_failure_in_a_segment_names_the_node_and_the_line() -> None:
    x = qn.placeholder(qn.float32, None)
    y = qn.placeholder(qn.float32, None)
    z = qn.matmul(qn.exp(x), y, name="product")
    with qn.Session() as session:
        with pytest.raises(qn.errors.InvalidArgumentError) as caught:
            session.run(z, {x: np.zeros((2, 3), "f"), y: np.zeros((4, 5), "f")})
        assert caught.value.node_name == "product" and caught.value.op is z.op
        assert str(caught.value).startswith("[MatMul] expected")
        assert "cuda_placement_test.py:" in str(caught.value)
        assert session.run(z, {x: [[0.0, 0.0]], y: [[1.0], [1.0]]}) == [[2.0]]


def test_an_uninitialized_variable_names_itself() -> None:
    v = qn.get_variable("weights", initializer=qn.constant(1.0))
    with qn.Session() as session:
        with pytest.raises(qn.errors.FailedPreconditionError, match="'weights'"):
            session.run(v + 1.0)


def test_one_name_for_two_dtypes() -> None:
    first = var_handle_op(dtype=qn.float32, shape=[], shared_name="v")
    other = var_handle_op(dtype=qn.float64, shape=[], shared_name="v", name="other")
    initialized = [var_is_initialized_op(handle) for handle in (first, other)]
    with qn.Session() as session:
        with pytest.raises(qn.errors.InvalidArgumentError, match=r"'v' to be of .*float.*'other'"):
            session.run(initialized)


def test_updates_by_many_threads_are_never_lost() -> None:
    v = qn.get_variable("v", initializer=qn.zeros([100]))
    add = v.assign_add(qn.ones([100]))
    with qn.Session() as session:
        session.run(v.initializer)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: session.run(add), range(40)))
        np.testing.assert_array_equal(session.run(v), np.full(100, 40))


def test_each_session_has_variables_of_its_own() -> None:
    v = qn.get_variable("v", initializer=qn.constant(1.0))
    add = v.assign_add(1.0)
    with qn.Session() as one, qn.Session() as other:
        for session in (one, other):
            session.run(v.initializer)
        one.run(add)
        assert one.run(v) == 2 and other.run(v) == 1
