"""Branches and loops that span two devices of a process, beside the same programs on one: values
and gradients, nesting, and how they end."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow import cond, map_fn, while_loop
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.errors import DeadlineExceededError, InvalidArgumentError
from qanat.core.graph import Graph, control_dependencies, device
from qanat.core.session import RunOptions, Session, SessionConfig
from qanat.ops import control_flow as flow
from qanat.ops.queues import FIFOQueue
from qanat.ops.variables import Variable

HERE, THERE = "/cpu:0", "/cpu:1"
CONFIGS = [
    SessionConfig(
        threads=threads,
        optimise=optimise,
        device_count={"CPU": 2},
        operation_timeout_in_ms=60_000,
    )
    for threads in (1, 2)
    for optimise in (True, False)
]
X = [0.5, -1.5]


def run(build: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    """The value and the gradients of what a function builds of placeholders, which are the same
    bits whatever the session."""
    with Graph().as_default() as graph:
        feeds = {placeholder("float64", np.shape(a)): np.asarray(a, np.float64) for a in arrays}
        y = build(*feeds)
        grads = [
            ops.zeros_like(x) if grad is None else grad
            for x, grad in zip(feeds, gradients(y, list(feeds)), strict=True)
        ]
        results = []
        for config in CONFIGS:
            with Session(graph=graph, config=config) as session:
                results.append(session.run([y, *grads], feeds))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    return results[0][0], results[0][1:]


def check(build: Any, *arrays: Any) -> None:
    """A function of devices gives on two what it gives on one."""
    value, grads = run(lambda *xs: build(HERE, THERE, *xs), *arrays)
    expected, slopes = run(lambda *xs: build("", "", *xs), *arrays)
    np.testing.assert_array_equal(value, expected)
    for grad, slope in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-14)


def crossings(fetches: Any, feeds: Any = None) -> int:
    """How many values one kind of step sends between devices."""
    from qanat.core.fetches import Fetches
    from qanat.core.graph import get_default_graph
    from qanat.core.passes.prune import prune
    from qanat.core.target import LocalTarget

    taken = Fetches(get_default_graph(), fetches)
    step, _ = LocalTarget(CONFIGS[0]).compile(prune(feeds or [], taken.outputs, taken.targets))
    return sum(node.op == "_Send" for node in step)


def alternating(times: int, **options: Any) -> Any:
    """x = sin(x * w) here and x = x + w there, over and over; and unrolled."""

    def step(here: str, there: str, x: Any, w: Any) -> Any:
        with device(here):
            x = ops.sin(x * w)
        with device(there):
            return x + w

    def in_loop(here: str, there: str, x: Any, w: Any) -> Any:
        return while_loop(
            lambda i, _: i < times,
            lambda i, x: (i + 1, step(here, there, x, w)),
            [0, x],
            **options,
        )[1]

    def unrolled(here: str, there: str, x: Any, w: Any) -> Any:
        for _ in range(times):
            x = step(here, there, x, w)
        return x

    return in_loop, unrolled


@pytest.mark.parametrize("parallel_iterations", [1, 2, 10])
@pytest.mark.parametrize("times", [0, 1, 7])
def test_a_body_that_alternates_between_devices(times: int, parallel_iterations: int) -> None:
    in_loop, unrolled = alternating(times, parallel_iterations=parallel_iterations)
    value, grads = run(lambda *xs: in_loop(HERE, THERE, *xs), X, [0.7, 1.1])
    expected, slopes = run(lambda *xs: unrolled(HERE, THERE, *xs), X, [0.7, 1.1])
    np.testing.assert_array_equal(value, expected)
    for grad, slope in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-13)
    check(in_loop, X, [0.7, 1.1])


def test_what_crosses_in_a_loop() -> None:
    with Graph().as_default():
        x = placeholder("float64", [2])
        in_loop, _ = alternating(5)
        y = in_loop(HERE, THERE, x, constant(np.ones(2)))
        # The predicate and x there, and x back, in each iteration; w is a constant on both.
        assert crossings(y, [x]) == 3


@pytest.mark.parametrize("where", ["predicate", "body", "all but the predicate"])
def test_either_device_may_have_the_predicate(where: str) -> None:
    def build(here: str, there: str, x: Any) -> Any:
        def condition(i: Any, _: Any) -> Any:
            with device(there if where == "predicate" else here):
                return i < 5

        def body(i: Any, x: Any) -> Any:
            with device(there if where == "body" else here):
                return i + 1, ops.sin(x) * 1.5

        with device(there if where == "all but the predicate" else ""):
            return while_loop(condition, body, [0, x])[1]

    check(build, X)


def test_loops_in_loops() -> None:
    def build(here: str, there: str, x: Any, w: Any) -> Any:
        def inner(i: Any, x: Any) -> Any:
            def body(j: Any, x: Any) -> Any:
                with device(there):
                    x = ops.tanh(x * w)
                with device(here):
                    return j + 1, x + 0.25

            return i + 1, while_loop(lambda j, _: j < i, body, [0, x])[1]

        return while_loop(lambda i, _: i < 4, inner, [0, x])[1]

    check(build, X, [0.9, 1.2])


def test_an_inner_loop_on_the_other_device() -> None:
    def build(here: str, there: str, x: Any, w: Any) -> Any:
        def outer(i: Any, x: Any) -> Any:
            with device(there):
                x = while_loop(
                    lambda j, _: j < i, lambda j, x: (j + 1, ops.sin(x * w)), [0, x]
                )[1]
            with device(here):
                return i + 1, x * 1.25

        return while_loop(lambda i, _: i < 4, outer, [0, x])[1]

    check(build, X, [0.9, 1.2])


def test_a_loop_in_the_condition_of_a_loop() -> None:
    def build(here: str, there: str, x: Any) -> Any:
        def condition(i: Any, x: Any) -> Any:
            with device(there):
                total = while_loop(
                    lambda j, _: j < 3, lambda j, t: (j + 1, t + ops.abs(x)), [0, ops.zeros_like(x)]
                )[1]
            return ops.reduce_sum(total) < 40.0

        return while_loop(condition, lambda i, x: (i + 1, x * 1.5), [0, x])[1]

    check(build, X)


@pytest.mark.parametrize("x", [0.5, -0.5])
def test_branches_on_different_devices(x: float) -> None:
    def build(here: str, there: str, x: Any, w: Any) -> Any:
        def positive() -> Any:
            with device(there):
                return ops.sin(x * w)

        def negative() -> Any:
            with device(here):
                return x * x + w

        return cond(x > 0.0, positive, negative) * w

    check(build, x, 1.5)


def test_a_branch_that_is_on_another_device_as_a_whole() -> None:
    def build(here: str, there: str, x: Any, w: Any) -> Any:
        with device(there):
            chosen = cond(ops.reduce_sum(x) > 0.0, lambda: x * w, lambda: x - w)
        with device(here):
            return ops.sin(chosen) + x

    for x in (X, [1.0, 2.0]):
        check(build, x, [2.0, 3.0])


def test_a_cond_in_a_loop() -> None:
    def build(here: str, there: str, x: Any, w: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            def even() -> Any:
                with device(there):
                    return ops.sin(x * w)

            def odd() -> Any:
                with device(here):
                    return x + w * 0.5

            return i + 1, cond(ops.equal(i % 2, 0), even, odd)

        return while_loop(lambda i, _: i < 5, body, [0, x])[1]

    check(build, X, [0.9, 1.2])


@pytest.mark.parametrize("taken", [1.0, -1.0])
def test_a_loop_in_a_cond(taken: float) -> None:
    in_loop, _ = alternating(4)

    def build(here: str, there: str, x: Any, w: Any, p: Any) -> Any:
        return cond(p > 0.0, lambda: in_loop(here, there, x, w), lambda: x * w)

    check(build, X, [0.9, 1.2], taken)


def test_a_loop_in_a_cond_in_a_loop() -> None:
    in_loop, _ = alternating(3)

    def build(here: str, there: str, x: Any, w: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            return i + 1, cond(i < 2, lambda: in_loop(here, there, x, w), lambda: x * 0.5)

        return while_loop(lambda i, _: i < 4, body, [0, x])[1]

    check(build, X, [0.9, 1.2])


def test_higher_order_functions() -> None:
    def build(here: str, there: str, xs: Any) -> Any:
        def function(x: Any) -> Any:
            with device(there):
                return ops.sin(x) * x

        with device(here):
            return map_fn(function, xs)

    check(build, [0.5, -1.5, 2.0])


@pytest.fixture
def session() -> Iterator[Session]:
    with Graph().as_default() as graph, Session(graph=graph, config=CONFIGS[2]) as made:
        yield made


def test_variables_of_another_device(session: Session) -> None:
    with device(THERE):
        total = Variable(0.0, name="total")

    def body(i: Any) -> Any:
        with control_dependencies([total.assign_add(ops.cast(i, "float32"))]):
            return i + 1

    last = while_loop(lambda i: i < 10, body, [0], parallel_iterations=1)
    session.run(total.initializer)
    assert session.run(last) == 10
    assert session.run(total) == 45


def test_a_queue_of_another_device(session: Session) -> None:
    with device(THERE):
        queue = FIFOQueue(-1, ["float32"], shapes=[()])
    session.run(queue.enqueue_many([np.arange(8, dtype=np.float32)]))
    total = while_loop(
        lambda i, _: i < 10, lambda i, total: (i + 1, total + queue.dequeue()), [0, 0.0]
    )[1]
    with pytest.raises(DeadlineExceededError, match=r"while_context:[89]\)"):
        session.run(total, options=RunOptions(timeout_in_ms=100))


def test_a_failure_on_the_other_device(session: Session) -> None:
    def body(i: Any) -> Any:
        with device(THERE):
            left = 12 // (3 - i)
        return i + ops.minimum(left, 1)

    y = while_loop(lambda i: i < 9, body, [0])
    with pytest.raises(InvalidArgumentError, match=r"while_context:3\).*devices_test.py"):
        session.run(y)


def test_an_endless_loop_ends_by_its_deadline(session: Session) -> None:
    def body(i: Any) -> Any:
        with device(THERE):
            return identity(i)

    y = while_loop(lambda i: i < 9, body, [0])
    with pytest.raises(DeadlineExceededError):
        session.run(y, options=RunOptions(timeout_in_ms=100))


def test_a_fetch_in_a_branch_of_another_device(session: Session) -> None:
    p, x = placeholder("bool", []), constant(2.0)
    with device(THERE):
        inside = identity(flow.switch(x, p)[1])
    with device(HERE):
        doubled = inside + inside
    assert session.run(doubled, {p: True}) == 4
    with pytest.raises(InvalidArgumentError, match="a branch"):
        session.run(doubled, {p: False})


def test_a_loop_that_cannot_span_devices(session: Session) -> None:
    def looped(with_condition: bool) -> Any:
        entered = flow.enter(constant(0.0), frame_name=f"loop{with_condition}")
        merged = flow.merge([entered, entered])[0]
        goes_on = merged < 3.0
        if with_condition:
            goes_on = flow.loop_cond(goes_on)
        after, inside = flow.switch(merged, goes_on)
        with device(THERE):
            moved = inside + (entered if with_condition else 1.0)
        merged.op._update_input(1, flow.next_iteration(moved))
        return flow.exit_op(after)

    for with_condition, message in [(False, "one LoopCond, got 0"), (True, "only Merges to use")]:
        with pytest.raises(InvalidArgumentError, match=f"spans devices: expected {message}"):
            session.run(looped(with_condition))
