"""`TensorArray`: what is written and read, gradients, and misuse."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow import TensorArray, while_loop
from qanat.control_flow.testing import run, run_with_gradients
from qanat.core.base_ops import constant
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph
from qanat.core.session import Session

ROWS = np.arange(6.0).reshape(3, 2)


def test_unstack_read_stack() -> None:
    def build(x: Any) -> Any:
        array = TensorArray(x.dtype, 3, clear_after_read=False).unstack(x)
        assert array.element_shape.dims == (2,)
        return array.read(2), array.stack(), array.gather([2, 0]), array.size()

    read, stacked, gathered, size = run(build, ROWS)
    np.testing.assert_array_equal(read, ROWS[2])
    np.testing.assert_array_equal(stacked, ROWS)
    np.testing.assert_array_equal(gathered, ROWS[[2, 0]])
    assert size == 3


def test_split_and_concat() -> None:
    def build(x: Any) -> Any:
        array = TensorArray(x.dtype, 2, infer_shape=False, clear_after_read=False)
        array = array.split(x, [1, 2])
        return array.read(1), array.concat()

    read, joined = run(build, ROWS)
    np.testing.assert_array_equal(read, ROWS[1:])
    np.testing.assert_array_equal(joined, ROWS)


def test_an_array_grows_where_it_may() -> None:
    def build() -> Any:
        array = TensorArray("float32", 0, dynamic_size=True)
        array = while_loop(
            lambda i, a: i < 5, lambda i, a: (i + 1, a.write(i, ops.cast(i, "float32"))), [0, array]
        )[1]
        return array.stack()

    np.testing.assert_array_equal(run(build), range(5))


def test_strings() -> None:
    def build(x: Any) -> Any:
        return TensorArray("string", 2).unstack(x).gather([1, 0])

    assert run(build, np.array([b"a", b"long" * 9], object)).tolist() == [b"long" * 9, b"a"]


def test_what_is_read_twice_gets_the_sum_of_gradients() -> None:
    def build(x: Any) -> Any:
        array = TensorArray(x.dtype, 3, clear_after_read=False).unstack(x)
        return array.read(0) * array.read(1) + array.read(1) * array.read(1)

    _, (grad,) = run_with_gradients(build, ROWS)
    np.testing.assert_array_equal(grad[2], [0, 0])


def test_gradients_of_all_ways_in_and_out() -> None:
    def build(x: Any) -> Any:
        array = TensorArray(x.dtype, 3, clear_after_read=False)
        array = array.write(1, x[0] * x[1]).scatter([2, 0], ops.sin(x[:2]))
        pieces = TensorArray(x.dtype, 2, infer_shape=False).split(ops.exp(x), [1, 2])
        return array.gather([0, 1]) * array.stack()[1:] + pieces.concat()[:2] * array.read(0)

    run_with_gradients(build, ROWS / 7 + 0.3)


def test_gradients_through_a_loop() -> None:
    def build(x: Any, w: Any) -> Any:
        read = TensorArray(x.dtype, 3, clear_after_read=False).unstack(x)
        written = TensorArray(x.dtype, 3)

        def body(i: Any, state: Any, written: TensorArray) -> Any:
            state = ops.tanh(state * w + read.read(i))
            return i + 1, state, written.write(i, state * read.read(2 - i))

        written = while_loop(lambda i, *_: i < 3, body, [0, ops.zeros_like(w), written])[2]
        return written.stack()

    run_with_gradients(build, ROWS / 5, np.array([0.3, -0.7]))


def test_two_gradients_of_one_array_are_kept_apart() -> None:
    def build(x: Any) -> Any:
        y = ops.reduce_sum(TensorArray(x.dtype, 3).unstack(x * x).stack())
        return gradients(y, x) + gradients(3.0 * y, x)

    one, other = run(build, ROWS)
    np.testing.assert_allclose(one, 2 * ROWS)
    np.testing.assert_allclose(other, 6 * ROWS)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a: a.write(0, 1.0).write(0, 2.0).flow, "written once, got 0 again"),
        (lambda a: a.read(1), "written before it is read"),
        (lambda a: a.write(2, 1.0).flow, "below 2, the size"),
        (lambda a: a.write(-1, 1.0).flow, "0 or more, got -1"),
        (lambda a: a.write(1, 1.0).read(5), r"index in \[0, 2\)"),
        (lambda a: _read_twice(a.write(1, 1.0)), "clear_after_read"),
        (lambda a: a.stack(), "written before it is read"),
        (lambda a: TensorArray("int32", handle=a.handle, flow=a.flow).write(0, 1).flow,
         "elements of float32.*got int32"),
        (lambda a: a.write(0, np.ones(3, np.float32)).write(1, ops.zeros(ops.fill([1], 2))).flow,
         "element_shape"),
    ],
)  # fmt: skip
def test_misuse(build: Any, message: str) -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        y = build(TensorArray("float32", constant(2), tensor_array_name="a"))
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match=message):
                session.run(y)
        assert session.run(constant(1)) == 1


def _read_twice(array: TensorArray) -> Any:
    first = array.read(1)
    with first.graph.control_dependencies([first]):
        return array.read(1)


def test_arguments() -> None:
    with Graph().as_default():
        with pytest.raises(ValueError, match="either a size or a handle"):
            TensorArray("float32")
        array = TensorArray("float32", 3)
        with pytest.raises(TypeError):
            array.write(0, "text")
        with pytest.raises(ValueError):
            array.write(0, [1.0]).write(1, [1.0, 2.0])
