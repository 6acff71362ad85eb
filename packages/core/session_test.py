"""Tests of sessions, on kernels made for tests."""

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from qanat.core import base_ops, dtypes, errors
from qanat.core.base_ops import constant, group, identity, placeholder, placeholder_with_default
from qanat.core.graph import Graph, control_dependencies, device
from qanat.core.kernel_table import load_kernel_library
from qanat.core.op_def import In, Output, Shapes, op
from qanat.core.session import (
    InteractiveSession,
    RunOptions,
    Session,
    SessionConfig,
    get_default_session,
)
from qanat.core.shapes import TensorShape, merge

T = Annotated[In, "T"]
SCALAR = TensorShape([])


@op("TestAdd", outputs="z: T", T={dtypes.float32, dtypes.int64, dtypes.float64})
def add(x: T, y: T) -> Shapes:
    return [merge(x.shape, y.shape)]


@op("TestSleep", outputs="y: float32", stateful=True)
def sleep(*, ms: int) -> Shapes:
    return [SCALAR]


@op("TestFail", outputs="y: float32")
def fail(*, message: str) -> Shapes:
    return [TensorShape([1000])]


@op("TestCount", outputs="y: int64", stateful=True)
def count() -> Shapes:
    return [SCALAR]


@pytest.fixture(scope="module", autouse=True)
def kernels() -> None:
    library = Path(base_ops.__file__).parent / "native/executor/loadable_test_kernels.so"
    load_kernel_library(str(library))


@pytest.fixture
def session() -> Iterator[Session]:
    with Graph().as_default(), Session() as session:
        yield session


def test_runs_what_is_fetched_and_nothing_else(session: Session) -> None:
    x = placeholder("float32", [None], name="x")
    y = add(x, x)
    broken = fail(message="never")
    assert session.run(y, {x: [1, 2.5]}).tolist() == [2.0, 5.0]
    assert broken.op not in y.consumers()


def test_structures_of_fetches(session: Session) -> None:
    x = placeholder("float32", [], name="x")
    y = add(x, 1.0, name="y")
    result = session.run({"y": y, "all": [x, (y.op, "y:0", "x")]}, feed_dict={"x:0": 2})
    assert result == {"y": 3.0, "all": [2.0, (None, 3.0, None)]}
    assert isinstance(result["y"], np.float32)


def test_any_output_can_be_fed(session: Session) -> None:
    x = placeholder("float32", [], name="x")
    y = add(x, 1.0)
    z = add(y, y)
    assert session.run([z, y], {y: 5.0}) == [10.0, 5.0]
    assert session.run(constant(1), {}) == 1
    assert session.run(placeholder_with_default(3.0, [])) == 3.0
    with pytest.raises(ValueError, match="expected one value for 'x:0', got two"):
        session.run(y, {x: 1.0, "x:0": 2.0})


def test_every_dtype_goes_through(session: Session) -> None:
    for dtype in dtypes.ALL - {dtypes.resource}:
        x = placeholder(dtype, [None])
        value = np.array([b"a\x00", b""], object) if dtype is dtypes.string else [0, 1]
        array = np.array(value, dtype.as_numpy)
        result = session.run(identity(x), {x: array})
        assert result.dtype == array.dtype and result.tolist() == array.tolist()
        assert session.run(constant(array)).tolist() == array.tolist()


def test_strings_and_empty_arrays(session: Session) -> None:
    assert session.run(constant("\u00e9")) == b"\xc3\xa9"
    x = placeholder("float32", [None, 3])
    assert session.run(add(x, x), {x: np.zeros((0, 3), np.float32)}).shape == (0, 3)


def test_wrong_feeds_are_found_before_anything_runs(session: Session) -> None:
    x = placeholder("float32", [2], name="x")
    y = add(x, x)
    counted = count()
    with pytest.raises(
        errors.InvalidArgumentError, match="in feed_dict for 'x:0', which"
    ) as caught:
        session.run([y, counted])
    assert "session_test.py:" in str(caught.value) and caught.value.node_name == "x"
    with pytest.raises(TypeError, match="got a NumPy array of float64"):
        session.run([y, counted], {x: np.zeros(2)})
    with pytest.raises(ValueError, match=r"expected a value of float32\[2\] for 'x:0'"):
        session.run([y, counted], {x: [1.0]})
    with pytest.raises(ValueError, match="feed_dict key 'gone:0'"):
        session.run([y, counted], {"gone:0": 1})
    with pytest.raises(TypeError, match="feed_dict key .*expected an Output or the name of one"):
        session.run([y, counted], {x.op: 1})
    with pytest.raises(ValueError, match="fetch 'gone'"):
        session.run("gone")
    with pytest.raises(TypeError, match="fetches: expected Outputs"):
        session.run({1, 2})
    with pytest.raises(TypeError, match="feed_dict: expected a dict from Outputs to values"):
        session.run([y, counted], [(x, [1, 2])])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options: expected RunOptions, got {'trace': 1}"):
        session.run([y, counted], {x: [1, 2]}, {"trace": 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of another graph"):
        with Graph().as_default():
            session.run(constant(1))
    assert session.run([y, counted], {x: [1, 2]})[1] == 1


def test_failures_name_op_node_and_line(session: Session) -> None:
    y = identity(fail(message="expected luck, got none", name="bad"))
    with pytest.raises(errors.InvalidArgumentError) as caught:
        session.run(y)
    assert str(caught.value).startswith("[TestFail] expected luck, got none (node 'bad', made at ")
    assert caught.value.op is not None and caught.value.op.name == "bad"
    assert caught.value.user_line is not None and "session_test.py:" in caught.value.user_line
    assert session.run(constant(1)) == 1


def test_missing_kernels_are_named_with_those_that_exist(session: Session) -> None:
    x = constant(1.0, "float64")
    with pytest.raises(errors.UnimplementedError, match=r"CPU: T=float32 \| T=int64"):
        session.run(add(x, x))
    with device("/gpu:0"):
        y = constant(1.0)
    with pytest.raises(
        errors.InvalidArgumentError, match="expected one of the devices .*CPU:0, got"
    ):
        session.run(y)
    with Session(config=SessionConfig(allow_soft_placement=True)) as soft:
        assert soft.run(y) == 1.0


def test_control_inputs_run_first(session: Session) -> None:
    counted = count()
    with control_dependencies([counted]):
        y = constant(1)
    assert session.run(y) == 1 and session.run(counted) == 2
    session.run(group(counted, y))
    assert session.run(counted) == 4


def test_plans_are_kept_and_renewed(session: Session) -> None:
    x = placeholder("float32", [])
    y = add(x, x)
    session.run(y, {x: 1.0})
    plan = session._plan(y, (x,))
    identity(y)
    assert session._plan(y, (x,)) is plan
    counted = count()
    y.op._add_control_inputs([counted.op])
    assert session._plan(y, (x,)) is not plan
    session.run(y, {x: 1.0})
    assert session.run(counted) == 2


def test_the_plan_cache_drops_the_least_recently_used() -> None:
    with Graph().as_default(), Session(config=SessionConfig(plan_cache_size=2)) as session:
        a, b, c = constant(1), constant(2), constant(3)
        first = session._plan(a, ())
        session._plan(b, ())
        assert session._plan(a, ()) is first
        session._plan(c, ())
        assert session._plan(a, ()) is first and len(session._plans) == 2


def test_prepared_steps(session: Session) -> None:
    x, y = placeholder("float32", [], name="x"), placeholder("float32", [])
    step = session.prepare({"sum": add(x, y)}, ["x:0", y])
    assert step(1, 2.5) == {"sum": 3.5} and session.make_callable(x, [x])(4.0) == 4.0
    with pytest.raises(TypeError, match="expected 2 values, one a feed, got 1"):
        step(1)
    with pytest.raises(TypeError, match="expected float32, got 'a'"):
        step("a", 1)
    with pytest.raises(errors.InvalidArgumentError, match="TestFail"):
        session.prepare(fail(message="no"))()
    session.close()
    with pytest.raises(errors.CancelledError, match="the session was closed"):
        step(1, 2)


def test_deadlines(session: Session) -> None:
    slow = add(sleep(ms=200), sleep(ms=200))
    with pytest.raises(
        errors.DeadlineExceededError,
        match=r"\[\w+\] expected the step to end within 0.02 s.*made at .*session_test.py",
    ):
        session.run(slow, options=RunOptions(timeout_in_ms=20))
    assert session.run(slow, options=RunOptions(timeout_in_ms=60_000)) == 2.0
    with Session(config=SessionConfig(operation_timeout_in_ms=20)) as hasty:
        with pytest.raises(errors.DeadlineExceededError):
            hasty.run(slow)
        with pytest.raises(errors.DeadlineExceededError):
            hasty.run(slow, options=RunOptions())
        with pytest.raises(errors.DeadlineExceededError):
            hasty.prepare(slow, options=RunOptions())()


def test_closing_ends_running_steps() -> None:
    with Graph().as_default():
        slow = add(sleep(ms=300), sleep(ms=300))
        session = Session()
        timer = threading.Timer(0.05, session.close)
        timer.start()
        with pytest.raises(errors.CancelledError, match="the session was closed"):
            session.run(slow)
        timer.join()
        with pytest.raises(RuntimeError, match="expected an open session, got a closed one"):
            session.run(slow)
        session.close()


def test_keyboard_interrupt_ends_the_step_alone(session: Session) -> None:
    chain: Output = sleep(ms=50)
    for _ in range(800):
        chain = identity(add(chain, sleep(ms=50)))
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        session.run(chain)
    assert time.monotonic() - start < 10
    timer.join()
    assert session.run(constant(1)) == 1


def test_many_threads_run_at_once(session: Session) -> None:
    x = placeholder("float32", [None])
    y = add(x, x)
    counted = count()
    wrong: list[object] = []

    def work(number: int) -> None:
        for i in range(50):
            value = session.run([y, counted], {x: [number, i]})[0]
            if value.tolist() != [2 * number, 2 * i]:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and session.run(counted) == 201


def test_results_and_feeds_are_values(session: Session) -> None:
    x = placeholder("float32", [None])
    y = add(x, x)
    value = np.ones(5000, np.float32)
    first = session.run(y, {x: value})
    value[:] = 3
    second = session.run(y, {x: value})
    assert (first == 2).all() and (second == 6).all()
    first[0] = 100
    assert session.run(y, {x: value})[0] == 6


def test_default_sessions() -> None:
    assert get_default_session() is None
    with Graph().as_default() as graph:
        x = placeholder("float32", [])
        y = add(x, 1.0)
    with Session(graph=graph) as session:
        assert get_default_session() is session and y.eval({x: 1.0}) == 2.0
        y.op.run({x: 1.0})
        with Session(graph=graph) as inner, session.as_default():
            assert get_default_session() is session
            assert y.eval({x: 2.0}, session=inner) == 3.0
    assert get_default_session() is None
    interactive = InteractiveSession(graph=graph)
    assert get_default_session() is interactive and y.eval({x: 1.0}) == 2.0
    interactive.close()
    assert get_default_session() is None


def test_wrong_construction() -> None:
    with pytest.raises(
        ValueError, match=r"expected target '' .this process. or .*got 'nowhere://a:1'"
    ):
        Session("nowhere://a:1")
    with pytest.raises(TypeError, match="target: expected a string, .*graph=.*got <"):
        Session(Graph())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="graph: expected a Graph, got 3"):
        Session(graph=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="config: expected a SessionConfig, got 3"):
        Session(config=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads: expected 1 or more"):
        SessionConfig(threads=0)
    with pytest.raises(ValueError, match="timeout_in_ms: expected 0"):
        RunOptions(timeout_in_ms=-1)
    with Session() as session:
        assert str(session.list_devices()[0]).endswith("/device:CPU:0")


def test_kernel_libraries_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(errors.OpError, match="gone.so"):
        load_kernel_library(str(tmp_path / "gone.so"))
