"""Queues and accumulators in branches and loops: what waits there, what does not, and how it
ends."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat.control_flow import cond, while_loop
from qanat.control_flow.testing import CONFIGS
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OutOfRangeError,
)
from qanat.core.graph import Graph, control_dependencies
from qanat.core.session import RunOptions, Session
from qanat.ops.accumulators import ConditionalAccumulator
from qanat.ops.queues import FIFOQueue

SOON = RunOptions(timeout_in_ms=60_000)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


@pytest.fixture(params=CONFIGS, ids=lambda c: f"threads={c.threads},optimise={c.optimise}")
def session(request: pytest.FixtureRequest, graph: Graph) -> Iterator[Session]:
    with Session(graph=graph, config=request.param) as made:
        yield made


def numbers(capacity: int = -1) -> FIFOQueue:
    return FIFOQueue(capacity, ["float32"], shapes=[()])


def drained(queue: FIFOQueue, count: Any, parallel_iterations: int = 10) -> Any:
    """The sum of that many elements, dequeued in a loop."""
    return while_loop(
        lambda i, _: i < count,
        lambda i, total: (i + 1, total + queue.dequeue()),
        [0, 0.0],
        parallel_iterations=parallel_iterations,
    )[1]


def in_a_while(run: Any) -> threading.Thread:
    """Runs something on another thread, once this one is likely to wait."""

    def later() -> None:
        time.sleep(0.05)
        run()

    thread = threading.Thread(target=later)
    thread.start()
    return thread


@pytest.mark.parametrize("parallel_iterations", [1, 4])
def test_a_loop_drains_a_queue(session: Session, parallel_iterations: int) -> None:
    queue = numbers()
    x, n = placeholder("float32", [None]), placeholder("int32", [])
    filled = queue.enqueue_many([x])
    total, size = drained(queue, n, parallel_iterations), queue.size()
    session.run(filled, {x: np.arange(40, dtype=np.float32)}, SOON)
    assert session.run(total, {n: 30}, SOON) == 435
    assert session.run(size) == 10
    filler = in_a_while(lambda: session.run(filled, {x: np.ones(20, np.float32)}, SOON))
    assert session.run(total, {n: 30}, SOON) == 345 + 20
    filler.join()
    assert session.run(size) == 0


def test_a_branch_that_is_not_taken_leaves_a_queue_alone(session: Session) -> None:
    queue = numbers()
    taken = placeholder("bool", [])
    value = cond(taken, queue.dequeue, lambda: constant(-1.0))
    size = queue.size()
    session.run(queue.enqueue_many([[5.0, 6.0]]), options=SOON)
    assert session.run(value, {taken: False}, SOON) == -1
    assert session.run(size) == 2
    assert session.run(value, {taken: True}, SOON) == 5
    assert session.run(size) == 1


def test_elements_are_taken_in_those_iterations_alone_whose_branch_is(session: Session) -> None:
    queue = numbers()
    size = queue.size()

    def body(i: Any, total: Any) -> Any:
        return i + 1, cond(i % 3 < 1, lambda: total + queue.dequeue(), lambda: total - 100.0)

    total = while_loop(lambda i, _: i < 9, body, [0, 0.0])[1]
    session.run(queue.enqueue_many([np.arange(1, 6, dtype=np.float32)]), options=SOON)
    assert session.run(total, options=SOON) == 6 - 600
    assert session.run(size) == 2


def test_two_loops_of_one_step_meet_at_a_small_queue(session: Session) -> None:
    queue = numbers(capacity=1)

    def put(i: Any) -> Any:
        with control_dependencies([queue.enqueue(constant(2.0))]):
            return i + 1

    put_all = while_loop(lambda i: i < 25, put, [0], parallel_iterations=1)
    assert session.run([drained(queue, 25), put_all], options=SOON) == [50, 25]


def test_gradients_are_taken_in_a_loop(session: Session) -> None:
    accumulator = ConditionalAccumulator("float32", [])
    applied = accumulator.apply_grad(constant(3.0))

    def body(i: Any, total: Any) -> Any:
        return i + 1, total + cond(i < 2, lambda: accumulator.take_grad(2), lambda: constant(0.5))

    total = while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1)[1]
    applier = in_a_while(lambda: [session.run(applied) for _ in range(2)])
    with pytest.raises(DeadlineExceededError, match="in iteration while/while_context:1"):
        session.run(total, options=RunOptions(timeout_in_ms=400))
    applier.join()


def test_a_closed_queue_ends_the_loop_that_drains_it(session: Session) -> None:
    queue = numbers()
    closed = queue.close()
    session.run(queue.enqueue_many([[1.0, 2.0]]), options=SOON)
    closer = in_a_while(lambda: session.run(closed))
    with pytest.raises(OutOfRangeError, match=r"in iteration while/while_context:2\)") as caught:
        session.run(drained(queue, 5, parallel_iterations=1), options=SOON)
    closer.join()
    assert "waits_test.py" in str(caught.value)


def test_a_wait_in_a_loop_ends_at_the_deadline(session: Session) -> None:
    queue = numbers()
    session.run(queue.enqueue(1.0), options=SOON)
    total = drained(queue, 5, parallel_iterations=1)
    with pytest.raises(DeadlineExceededError, match=r"a queue, at '.*while_context:1\)"):
        session.run(total, options=RunOptions(timeout_in_ms=50))
    assert session.run(queue.size()) == 0


def test_a_wait_in_a_loop_ends_with_its_session(graph: Graph) -> None:
    queue = numbers()
    total = drained(queue, 5)
    session = Session(graph=graph)
    closer = in_a_while(session.close)
    with pytest.raises(CancelledError, match="the session was closed"):
        session.run(total, options=SOON)
    closer.join()


def test_a_failure_elsewhere_ends_a_wait_in_a_loop(session: Session) -> None:
    queue, started = numbers(), numbers()
    with control_dependencies([started.dequeue()]):
        zero = identity(constant(0))
    start = started.enqueue(1.0)
    starter = in_a_while(lambda: session.run(start, options=SOON))
    with pytest.raises(InvalidArgumentError, match="divisors other than 0"):
        session.run([drained(queue, 5), 1 // zero], options=SOON)
    starter.join()
