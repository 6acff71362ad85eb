"""Branches and loops over the tasks of a cluster: a process has a part of each loop, and they meet
in every iteration."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import qanat as qn
from qanat.distributed_runtime import grpc_target
from tests.addresses import free_addresses
from tests.end_to_end.clusters import assert_idle, config

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def servers() -> Iterator[list[qn.Server]]:
    ps, worker = free_addresses(2)
    cluster = qn.ClusterSpec({"ps": [ps], "worker": [worker]})
    made = [qn.Server(cluster, job, 0, qn.SessionConfig(threads=2)) for job in ("ps", "worker")]
    yield made
    for server in made:
        server.stop()


@pytest.fixture(params=["in this process", "over the network"])
def session(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, servers: list[qn.Server]
) -> Iterator[qn.Session]:
    """A session of the worker's; in the end nothing of any step is left."""
    if request.param == "over the network":
        monkeypatch.setattr(grpc_target, "local_server", lambda address: None)
    with qn.Graph().as_default(), qn.Session(servers[1].target, config=config()) as made:
        yield made
    assert_idle(servers)


def alternating(x: qn.Tensor, w: qn.Tensor, times: int | qn.Tensor) -> qn.Tensor:
    """x = sin(x * w) at the ps and x + w at the worker, over and over."""

    def body(i: qn.Tensor, x: qn.Tensor) -> tuple[qn.Tensor, qn.Tensor]:
        with qn.device(PS):
            x = qn.sin(x * w)
        with qn.device(WORKER):
            return i + 1, x + w

    with qn.device(WORKER):
        return qn.while_loop(lambda i, _: i < times, body, [0, x])[1]


def test_a_loop_and_its_gradient_span_tasks(session: qn.Session) -> None:
    x, w = qn.placeholder(qn.float64, [2]), qn.placeholder(qn.float64, [2])
    times = qn.placeholder(qn.int32, [])
    y = alternating(x, w, times)
    results = session.prepare([y, *qn.gradients(y, [x, w])], [x, w, times])
    for count in (0, 1, 6):
        unrolled = x + 0.0 * w
        for _ in range(count):
            unrolled = qn.sin(unrolled * w) + w
        wanted = [unrolled, *qn.gradients(unrolled, [x, w])]
        values = [0.5, -1.5], [0.7, 1.1]
        with qn.Session() as here:
            wanted = here.run(wanted, dict(zip([x, w], values, strict=True)))
        for got, want in zip(results(*values, count), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)


def test_a_branch_of_another_task(session: qn.Session) -> None:
    p, x = qn.placeholder(qn.bool, []), qn.placeholder(qn.float32, [])

    def taken() -> qn.Tensor:
        with qn.device(PS):
            return qn.sin(x) * 2.0

    with qn.device(WORKER):
        y = qn.cond(p, taken, lambda: x - 1.0)
    assert session.run(y, {p: True, x: 0.0}) == 0.0
    assert session.run(y, {p: False, x: 0.0}) == -1.0


def test_what_another_task_computes_of_a_branch_is_dead_there(session: qn.Session) -> None:
    p, x = qn.placeholder(qn.bool, []), qn.placeholder(qn.float32, [])

    def taken() -> qn.Tensor:
        doubled = x * 2.0
        with qn.device(PS):  # nothing there tells of a branch
            return qn.sin(doubled) + qn.cos(x)

    with qn.device(WORKER):
        y = qn.cond(p, taken, lambda: x - 1.0)
    for fed, want in ((True, 1.0), (False, -1.0)):
        assert session.run(y, {p: fed, x: 0.0}) == want


def test_loops_in_loops_span_tasks(session: qn.Session) -> None:
    def outer(i: qn.Tensor, x: qn.Tensor) -> tuple[qn.Tensor, qn.Tensor]:
        def inner(j: qn.Tensor, x: qn.Tensor) -> tuple[qn.Tensor, qn.Tensor]:
            with qn.device(PS):
                return j + 1, qn.cond(x < 100.0, lambda: x * 2.0, lambda: x - 50.0)

        return i + 1, qn.while_loop(lambda j, _: j < i, inner, [0, x])[1]

    with qn.device(WORKER):
        x = qn.while_loop(lambda i, _: i < 5, outer, [0, qn.constant(1.0)])[1]
    want = 1.0
    for _ in range(10):
        want = want * 2 if want < 100 else want - 50
    assert session.run(x) == want


def test_a_queue_of_another_task_is_drained_in_a_loop(session: qn.Session) -> None:
    with qn.device(PS):
        queue = qn.FIFOQueue(3, qn.float32, [[]])
    with qn.device(WORKER):
        x = qn.placeholder(qn.float32, [None])
        put = queue.enqueue_many([x])
        total = qn.while_loop(
            lambda i, _: i < 20, lambda i, total: (i + 1, total + queue.dequeue()), [0, 0.0]
        )[1]
    filler = threading.Thread(target=lambda: session.run(put, {x: np.arange(20, dtype="f")}))
    filler.start()
    assert session.run(total) == 190.0
    filler.join()


def test_a_failure_in_an_iteration_elsewhere_names_both(session: qn.Session) -> None:
    def body(i: qn.Tensor) -> qn.Tensor:
        with qn.device(PS):
            left = 12 // (3 - i)
        return i + qn.minimum(left, 1)

    with qn.device(WORKER):
        y = qn.while_loop(lambda i: i < 9, body, [0])
    with pytest.raises(qn.errors.InvalidArgumentError) as caught:
        session.run(y)
    for part in ("in iteration while/while_context:3", PS, "cluster_loops_test.py"):
        assert part in str(caught.value)


def test_a_task_that_ends_in_a_loop_is_named(
    monkeypatch: pytest.MonkeyPatch, servers: list[qn.Server]
) -> None:
    monkeypatch.setattr(grpc_target, "local_server", lambda address: None)
    with qn.Graph().as_default(), qn.Session(servers[1].target, config=config()) as session:
        endless = alternating(qn.constant(1.0), qn.constant(0.5), 1_000_000_000)
        threading.Timer(0.3, servers[0].stop).start()
        start = time.monotonic()
        with pytest.raises(qn.errors.UnavailableError, match=f"{PS} at 127.0.0.1:"):
            session.run(endless)
        assert time.monotonic() - start < 30


def test_an_endless_loop_over_tasks_ends_by_its_deadline(session: qn.Session) -> None:
    endless = alternating(qn.constant(1.0), qn.constant(0.5), 1_000_000_000)
    with pytest.raises(qn.errors.DeadlineExceededError):
        session.run(endless, options=qn.RunOptions(timeout_in_ms=200))
