"""Random ops over steps, sessions and seeds."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core.base_ops import constant
from qanat.core.graph import Graph, set_random_seed
from qanat.core.session import Session

OPS = [
    lambda **how: ops.random_uniform([100], **how),
    lambda **how: ops.random_normal([100], **how),
    lambda **how: ops.truncated_normal([100], **how),
    lambda **how: ops.random_uniform([100], 0, 1000, "int32", **how),
    lambda **how: ops.random_shuffle(np.arange(100), **how),
]


def _two_steps(make: Any, graph_seed: int | None = None, before: Any = None, **how: Any) -> Any:
    with Graph().as_default() as graph:
        set_random_seed(graph_seed)
        if before is not None:
            before()
        numbers = make(**how)
        with Session(graph=graph) as session:
            return [session.run(numbers) for _ in range(2)]


@pytest.mark.parametrize("make", OPS)
def test_a_seed_repeats_in_a_new_session_but_not_in_the_next_step(make: Any) -> None:
    first, second = _two_steps(make, seed=5)
    assert not np.array_equal(first, second)
    again = _two_steps(make, seed=5)
    np.testing.assert_array_equal([first, second], again)
    assert not np.array_equal(first, _two_steps(make, seed=6)[0])


@pytest.mark.parametrize("make", OPS)
def test_the_graphs_seed_is_enough_and_other_ops_change_nothing(make: Any) -> None:
    alone = _two_steps(make, graph_seed=3)
    np.testing.assert_array_equal(alone, _two_steps(make, graph_seed=3))
    beside = _two_steps(make, graph_seed=3, before=lambda: constant(1) + constant(2))
    np.testing.assert_array_equal(alone, beside)


@pytest.mark.parametrize("make", OPS)
def test_without_any_seed_sessions_differ(make: Any) -> None:
    assert not np.array_equal(_two_steps(make)[0], _two_steps(make)[0])


def test_two_ops_of_a_graph_with_a_seed_differ() -> None:
    with Graph().as_default() as graph:
        set_random_seed(3)
        pair = [ops.random_uniform([100]), ops.random_uniform([100])]
        with Session(graph=graph) as session:
            assert not np.array_equal(*session.run(pair))


def test_a_vector_is_the_head_of_a_longer_one() -> None:
    """A counter-based generator: an element depends on its place alone."""
    short = _two_steps(lambda **how: ops.random_uniform([10], **how), seed=5)[0]
    long = _two_steps(lambda **how: ops.random_uniform([1000], **how), seed=5)[0]
    np.testing.assert_array_equal(short, long[:10])
