"""What branches and loops take in from outside: constants are values like others, which have
gradients and can be fed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow import case, cond, foldl, map_fn, scan, while_loop
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session

# What each makes of x = 2, and its derivative there.
USES: list[tuple[str, Callable[[Any], Any], float, float]] = [
    ("cond", lambda x: cond(ops.equal(x, x), lambda: x * x, lambda: x), 4, 4),
    ("cond, besides", lambda x: x + cond(ops.equal(x, x), lambda: x * x, lambda: x), 6, 5),
    ("case", lambda x: case([(x < 0.0, lambda: x)], lambda: x * x * x), 8, 12),
    (
        "while_loop",
        lambda x: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1],
        16,
        32,
    ),
    ("map_fn", lambda x: ops.reduce_sum(map_fn(lambda e: e * x * x, constant([1.0, 2.0]))), 12, 12),
    ("scan", lambda x: scan(lambda a, e: a * x + e, constant([1.0, 1.0, 1.0]))[2], 7, 5),
    ("foldl", lambda x: foldl(lambda a, e: a * x, constant([1.0, 1.0, 1.0])), 4, 4),
    (
        "cond in a loop",
        lambda x: while_loop(
            lambda i, y: i < 2,
            lambda i, y: (i + 1, cond(i < 1, lambda: y * x, lambda: y + x)),
            [0, 1.0],
        )[1],
        4,
        2,
    ),
]


@pytest.mark.parametrize(("use", "value", "slope"), [u[1:] for u in USES], ids=[u[0] for u in USES])
def test_a_constant_that_is_taken_in_has_a_gradient_and_can_be_fed(
    use: Callable[[Any], Any], value: float, slope: float
) -> None:
    with Graph().as_default(), Session() as session:
        x = constant(2.0)
        y = use(x)
        (grad,) = gradients(y, x)
        assert session.run([y, grad]) == [value, slope]
        other = placeholder("float32", [])
        z = use(other)
        expected = session.run([z, gradients(z, other)[0]], {other: 3.0})
        assert session.run([y, grad], {x: 3.0}) == expected


def test_a_constant_bound_of_a_loop_can_be_fed() -> None:
    with Graph().as_default(), Session() as session:
        n = constant(3)
        counted = while_loop(lambda i: i < n, lambda i: i + 1, [0])
        assert session.run(counted) == 3
        assert session.run(counted, {n: 7}) == 7


def test_shape_functions_see_the_value_of_a_constant_that_is_taken_in() -> None:
    with Graph().as_default(), Session() as session:
        shape = constant([2, 3])
        x = placeholder("float32", [6])
        branch = cond(
            ops.reduce_sum(x) > 0.0, lambda: ops.reshape(x, shape), lambda: ops.zeros(shape)
        )
        assert branch.shape.as_list() == [2, 3]
        mapped = map_fn(lambda e: ops.reshape(e, shape), ops.reshape(x, [1, 6]))
        assert mapped.shape.as_list() == [1, 2, 3]
        got = session.run([branch, mapped], {x: np.ones(6, np.float32)})
        assert all((each == 1).all() for each in got)


def test_gradients_of_what_is_empty() -> None:
    with Graph().as_default(), Session() as session:
        x, z = placeholder("float32", [0]), placeholder("float32", [0])
        looped = while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * x), [0, x])[1]
        branch = cond(ops.size(x) > 1, lambda: x * 2.0, lambda: z * 2.0)
        grads = gradients([looped, branch], [x, z])
        empty = np.zeros(0, np.float32)
        assert [grad.shape for grad in session.run(grads, {x: empty, z: empty})] == [(0,), (0,)]
