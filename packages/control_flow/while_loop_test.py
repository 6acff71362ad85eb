"""`while_loop`: values and gradients beside unrolled graphs, effects, ends, and what is refused."""

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow import cond, while_loop
from qanat.control_flow.testing import CONFIGS, compare, run, run_with_gradients
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.errors import DeadlineExceededError, InvalidArgumentError
from qanat.core.graph import Graph, control_dependencies
from qanat.core.graph_def import import_graph_def
from qanat.core.session import RunOptions, Session
from qanat.core.shapes import TensorShape
from qanat.ops.variables import Variable

X = [0.5, -1.5]


def repeated(function: Any, times: int) -> Any:
    """A function of x applied over and over, in a loop; and without one."""

    def in_loop(x: Any, *others: Any) -> Any:
        return while_loop(
            lambda i, _: i < times, lambda i, x: (i + 1, function(x, *others)), [0, x]
        )[1]

    def unrolled(x: Any, *others: Any) -> Any:
        for _ in range(times):
            x = function(x, *others)
        return x

    return in_loop, unrolled


@pytest.mark.parametrize("times", [0, 1, 5])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x * w,
        lambda x, w: ops.sin(x) + w * x,
        lambda x, w: ops.tanh(x * x - w) * x,
        lambda x, w: x + w,
        lambda x, w: ops.exp(-x * x) * ops.reduce_sum(w),
        lambda x, w: x / (1.0 + ops.square(w + x)),
    ],
)
def test_gradients_of_variables_and_of_what_is_taken_in(function: Any, times: int) -> None:
    compare(*repeated(function, times), X, [0.7, 1.1])


def test_matrices() -> None:
    generator = np.random.default_rng(0)
    w, x = generator.normal(size=(3, 3)) / 2, generator.normal(size=(2, 3))
    compare(*repeated(lambda x, w: ops.tanh(ops.matmul(x, w)), 4), x, w)


def test_variables_advance_independently() -> None:
    def build(x: Any) -> Any:
        i, total, power = while_loop(
            lambda i, total, power: i < 6,
            lambda i, total, power: (i + 1, total + power, power * x),
            [0, constant(np.float64(0)), constant(np.float64(1))],
        )
        return total

    value, (grad,) = run_with_gradients(build, 1.5)
    assert np.isclose(value, sum(1.5**k for k in range(6)))
    assert np.isclose(grad, sum(k * 1.5 ** (k - 1) for k in range(6)))


def test_a_number_of_iterations_that_depends_on_values() -> None:
    def build(x: Any) -> Any:
        return while_loop(lambda x: ops.reduce_sum(x) < 100.0, lambda x: x * x + x, [x])

    value, (grad,) = run_with_gradients(build, [1.5, 2.0])
    expected = np.array([1.5, 2.0])
    slope = np.ones(2)
    while expected.sum() < 100:
        expected, slope = expected * expected + expected, slope * (2 * expected + 1)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(grad, slope)


def test_structures_of_variables() -> None:
    def build(x: Any) -> Any:
        return while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, {"b": s["a"][0] * 2.0, "a": (s["b"] + 1.0,)}),
            [0, {"a": (x,), "b": x * 0.0}],
        )[1]

    result = run(build, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(result["a"][0], [3, 3])
    np.testing.assert_array_equal(result["b"], [6, 10])


def test_shapes_that_change() -> None:
    def build(x: Any) -> Any:
        grown = while_loop(
            lambda i, v: i < 3,
            lambda i, v: (i + 1, ops.concat([v, v[:1] * v[:1]], 0)),
            [0, x],
            shape_invariants=[TensorShape([]), TensorShape([None])],
        )[1]
        assert grown.shape.dims == (None,)
        return ops.reduce_sum(grown * grown)

    value, _ = run_with_gradients(build, X)
    assert np.isclose(value, 0.25 + 2.25 + 3 * 0.0625)


@pytest.mark.parametrize("n", [0, 3])
def test_loop_in_a_loop(n: int) -> None:
    def build(x: Any, w: Any) -> Any:
        def row(i: Any, x: Any) -> Any:
            inner = while_loop(
                lambda j, _: j < i + 1, lambda j, y: (j + 1, ops.sin(y) * w + x), [0, x]
            )[1]
            return i + 1, inner * x

        return while_loop(lambda i, _: i < n, row, [0, x])[1]

    def unrolled(x: Any, w: Any) -> Any:
        for i in range(n):
            y = x
            for _ in range(i + 1):
                y = ops.sin(y) * w + x
            x = y * x
        return x

    compare(build, unrolled, X, [0.7, 1.1])


def test_cond_in_a_loop() -> None:
    def build(x: Any, w: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            odd = ops.equal(i % 2, 1)
            return i + 1, cond(odd, lambda: ops.exp(-x) * w, lambda: ops.sin(x) * x)

        return while_loop(lambda i, _: i < 5, body, [0, x])[1]

    def unrolled(x: Any, w: Any) -> Any:
        for i in range(5):
            x = ops.exp(-x) * w if i % 2 else ops.sin(x) * x
        return x

    compare(build, unrolled, X, [0.7, 1.1])


@pytest.mark.parametrize("taken", [0.0, 1.0])
def test_loop_in_a_cond(taken: float) -> None:
    loop, unrolled_loop = repeated(lambda x, w: ops.sin(x) * w, 3)

    def build(x: Any, w: Any) -> Any:
        return cond(constant(taken) > 0.5, lambda: loop(x, w), lambda: x * x)

    compare(build, lambda x, w: unrolled_loop(x, w) if taken else x * x, X, [0.7, 1.1])


def test_a_loop_in_a_cond_in_a_loop() -> None:
    def build(x: Any, w: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            loop = repeated(lambda x, w: ops.sin(x) * w, 2)[0]
            return i + 1, cond(i < 2, lambda: loop(x, w), lambda: x * w)

        return while_loop(lambda i, _: i < 4, body, [0, x])[1]

    def unrolled(x: Any, w: Any) -> Any:
        for i in range(4):
            x = repeated(lambda x, w: ops.sin(x) * w, 2)[1](x, w) if i < 2 else x * w
        return x

    compare(build, unrolled, X, [0.7, 1.1])


def test_gradients_within_the_body() -> None:
    """Newton's method: each iteration differentiates what it computes."""

    def body(x: Any) -> Any:
        y = x * x - 2.0
        (slope,) = gradients(y, x)
        return x - y / slope

    result = run(lambda x: while_loop(lambda x: ops.abs(x * x - 2.0) > 1e-10, body, [x]), 1.0)
    assert np.isclose(result, np.sqrt(2), rtol=1e-12)


def test_variables_are_read_and_written_in_each_iteration() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        v, w = Variable(0.0), Variable(2.0)

        def body(i: Any, y: Any) -> Any:
            with control_dependencies([v.assign_add(1.0)]):
                return i + 1, y * w

        y = while_loop(lambda i, _: i < 4, body, [0, constant(1.0)], parallel_iterations=1)[1]
        (grad,) = gradients(y, w)
        session.run(ops.global_variables_initializer())
        assert session.run([y, grad]) == [16, 32]
        session.run(y)
        assert session.run(v) == 8


def test_a_loop_waits_for_what_is_around_it() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        v = Variable(1.0)
        with control_dependencies([v.assign(5.0)]):
            y = while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + v), [0, constant(0.0)])[1]
        session.run(v.initializer)
        assert session.run(y) == 15


@pytest.mark.parametrize("parallel_iterations", [1, 2, 32])
def test_results_do_not_depend_on_overlap(parallel_iterations: int) -> None:
    def build(x: Any) -> Any:
        y = while_loop(
            lambda i, x, y: i < 20,
            lambda i, x, y: (i + 1, ops.sin(x * 1.1), y + ops.matmul(x, x)),
            [0, x, ops.zeros_like(x)],
            parallel_iterations=parallel_iterations,
        )[2]
        return [y, *gradients(y, x)]

    x = np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32)
    y, grad = run(build, x)
    again = test_results_do_not_depend_on_overlap.__dict__.setdefault("first", (y, grad))
    np.testing.assert_array_equal(y, again[0])
    np.testing.assert_array_equal(grad, again[1])


def test_maximum_iterations() -> None:
    def build(x: Any) -> Any:
        return while_loop(lambda x: x > 0, lambda x: x * 2.0, [x], maximum_iterations=5)

    value, (grad,) = run_with_gradients(build, 1.0)
    assert value == 32 and grad == 32


def test_a_graph_that_was_written_and_read() -> None:
    with Graph().as_default() as graph:
        x = placeholder("float32", [2], name="x")
        y = repeated(lambda x: cond(x[0] > 1, lambda: x * 2.0, lambda: x + 1.0), 4)[0](x)
        y = identity(y, name="y")
        definition = graph.as_graph_def()
    values = []
    for read in (definition, type(definition).FromString(definition.SerializeToString())):
        with Graph().as_default() as graph, Session(graph=graph) as session:
            import_graph_def(read, name="")
            values.append(session.run("y:0", {"x:0": [0.5, 1]}))
            again = {node.name: node for node in graph.as_graph_def().node}
            assert again == {node.name: node for node in read.node}
            with pytest.raises(LookupError, match="that nothing in this graph knows as one"):
                gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))
    np.testing.assert_array_equal(values, [[12, 16]] * 2)


# Ends.


def _endless() -> Any:
    return while_loop(lambda i: i >= 0, lambda i: i * 1, [constant(1)])


@pytest.mark.parametrize("config", CONFIGS)
def test_an_endless_loop_ends_by_its_deadline(config: Any) -> None:
    with Graph().as_default() as graph, Session(graph=graph, config=config) as session:
        y = _endless()
        start = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            session.run(y, options=RunOptions(timeout_in_ms=100))
        assert time.monotonic() - start < 30


def test_an_endless_loop_ends_by_keyboard_interrupt() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        y = _endless()
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(y, options=RunOptions(timeout_in_ms=60_000))
        timer.join()
        assert session.run(constant(1)) == 1


def test_an_error_names_the_iteration_and_the_line() -> None:
    with Graph().as_default() as graph:
        y = while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, 12 // (3 - i)), [0, 0])[1]
        for config in CONFIGS:
            with Session(graph=graph, config=config) as session:
                with pytest.raises(InvalidArgumentError) as raised:
                    session.run(y)
                message = str(raised.value)
                assert "while_context:3)" in message and "while_loop_test.py" in message
                assert "loop 'while', made at" in message


# What is refused.


def test_a_fetch_in_a_loop_names_the_loop() -> None:
    inside: list[Any] = []

    def body(i: Any) -> Any:
        inside.append(i + 1)
        return inside[0]

    with Graph().as_default() as graph, Session(graph=graph) as session:
        while_loop(lambda i: i < 3, body, [constant(0)])
        for fetch in (inside[0], inside[0].op):
            with pytest.raises(InvalidArgumentError, match=r"loop 'while/.*while_loop_test.py:\d+"):
                session.run(fetch)
        with pytest.raises(InvalidArgumentError, match="one loop.*of no loop"):
            session.run(inside[0] + identity(constant(1)))


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (lambda i, v: (i + 1, ops.cast(v, "float64")), TypeError, "keep the dtype float32"),
        (
            lambda i, v: (i + 1, ops.concat([v, v], 0)),
            ValueError,
            r"begins with \[2\] and is \[4\]",
        ),
        (lambda i, v: [i + 1], ValueError, "structure of loop_vars"),
    ],
)
def test_what_a_body_may_not_give(body: Any, error: type[Exception], message: str) -> None:
    with Graph().as_default():
        v = constant(np.ones(2, np.float32))
        with pytest.raises(error, match=message) as raised:
            while_loop(lambda i, v: i < 3, body, [0, v])
        assert "while_loop_test.py" in str(raised.value)


def test_what_else_is_refused() -> None:
    with Graph().as_default():
        with pytest.raises(TypeError, match="one or more"):
            while_loop(lambda: constant(True), lambda: None, [])
        with pytest.raises(TypeError, match="scalar bool"):
            while_loop(lambda i: i, lambda i: i, [0])
        with pytest.raises(TypeError, match="positive int"):
            while_loop(lambda i: i < 1, lambda i: i, [0], parallel_iterations=0)
        with pytest.raises(ValueError, match="shape_invariants"):
            while_loop(lambda i: i[0] < 1, lambda i: i, [[0, 1]], [TensorShape([3])])


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    with Graph().as_default():
        x = placeholder("float32", [])
        (first,) = gradients(repeated(lambda x: x * x, 3)[0](x), x)
        with pytest.raises(LookupError, match="a second one"):
            gradients(first, x)
