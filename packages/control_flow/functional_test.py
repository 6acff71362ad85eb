"""`map_fn`, `foldl`, `foldr`, `scan` beside NumPy."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.control_flow import foldl, foldr, map_fn, scan
from qanat.control_flow.testing import compare, run, run_with_gradients
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph

ROWS = np.arange(6.0).reshape(3, 2) / 4


def test_map() -> None:
    compare(
        lambda x: map_fn(lambda row: ops.sin(row) * row[::-1], x),
        lambda x: ops.sin(x) * x[:, ::-1],
        ROWS,
    )


def test_map_of_structures() -> None:
    def build(x: Any, y: Any) -> Any:
        return map_fn(
            lambda e: {"p": e[0] * e[1], "n": ops.cast(ops.reduce_sum(e[0]), "int64")},
            (x, y),
            dtype={"p": "float64", "n": "int64"},
        )

    result = run(build, ROWS * 4, ROWS)
    np.testing.assert_array_equal(result["p"], ROWS * ROWS * 4)
    np.testing.assert_array_equal(result["n"], [1, 5, 9])


def test_map_of_an_unknown_number() -> None:
    with Graph().as_default():
        y = map_fn(lambda row: row * 2.0, placeholder("float32", [None, 3]))
        assert y.shape.dims == (None, 3)


def test_folds() -> None:
    np.testing.assert_array_equal(
        run(lambda x: foldl(lambda a, e: a * 2.0 + e, x), ROWS), [2, 3.75]
    )
    np.testing.assert_array_equal(
        run(lambda x: foldr(lambda a, e: a * 2.0 + e, x, ops.zeros_like(x[0])), ROWS), [5, 6.75]
    )
    run_with_gradients(lambda x: foldl(lambda a, e: ops.sin(a) * e + a, x), ROWS)
    run_with_gradients(lambda x: foldr(lambda a, e: ops.tanh(a) + e * e, x), ROWS)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("begin", [False, True])
def test_scan(reverse: bool, begin: bool) -> None:
    def build(x: Any) -> Any:
        return scan(
            lambda a, e: ops.sin(a) + e * a,
            x,
            initializer=ops.ones_like(x[0]) if begin else None,
            reverse=reverse,
        )

    def unrolled(x: Any) -> Any:
        rows = [x[i] for i in range(3)]
        rows = rows[::-1] if reverse else rows
        state = ops.ones_like(x[0]) if begin else rows.pop(0)
        results = [] if begin else [state]
        for row in rows:
            state = ops.sin(state) + row * state
            results.append(state)
        return ops.stack(results[::-1] if reverse else results)

    compare(build, unrolled, ROWS)


def test_a_scan_over_structures() -> None:
    def build(x: Any) -> Any:
        return scan(
            lambda a, e: (a[0] + e, a[1] * 2.0), x, (ops.zeros_like(x[0]), ops.ones_like(x[0, 0]))
        )

    sums, powers = run(build, ROWS)
    np.testing.assert_array_equal(sums, ROWS.cumsum(0))
    np.testing.assert_array_equal(powers, [2, 4, 8])


def test_what_is_refused() -> None:
    with Graph().as_default():
        with pytest.raises(ValueError, match="rank 1 or more"):
            map_fn(lambda x: x, 3.0)
        with pytest.raises(ValueError, match="structure of dtype"):
            map_fn(lambda x: (x, x), np.ones(2))
