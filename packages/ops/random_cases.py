"""Cases of random ops: what holds of their numbers whatever they are."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import random as r

SEEDS: Any = {"seed": 7, "seed2": 11}
N = 40000


def _moments(mean: float, stddev: float, low: float, high: float) -> Any:
    """Mean and deviation are those expected, within five standard errors, and all is within bounds.
    """

    def holds(x: Any) -> None:
        x = x.astype(np.float64)
        assert np.all((x >= low) & (x < high)), (x.min(), x.max())
        assert abs(x.mean() - mean) < 5 * stddev / np.sqrt(x.size) + 2e-3 * stddev, x.mean()
        assert abs(x.std() - stddev) < 0.02 * stddev, x.std()

    return holds


def _distribution(op: Any, dtype: DType, *expected: float) -> Case:
    return Case(op, ([N],), {"dtype": dtype, **SEEDS}, holds=_moments(*expected))


def _small(op: Any, *shape: int) -> Case:
    return Case(op, (np.array(shape, np.int64),), {"dtype": dtypes.float32, **SEEDS}, misuse=[
        Misuse(([-1],), "0 or more"),
        Misuse(([[2]],), "rank 1"),
        Misuse((listed([-3], dtypes.int32),), "", InvalidArgumentError),
    ])  # fmt: skip


def _all_values(x: Any) -> None:
    assert set(np.unique(x)) == set(range(-3, 5))
    counts = np.bincount(x + 3)
    assert np.all(abs(counts - N / 8) < 5 * np.sqrt(N / 8)), counts


def _same_rows(x: Any, y: Any) -> None:
    assert sorted(map(tuple, x)) == sorted(map(tuple, y)) and not np.array_equal(x, y)


def _shuffled(x: Any) -> Any:
    return x, r.random_shuffle_op(x, **SEEDS)


def _stateless() -> Any:
    """By two seeds, each as int32 and as int64."""
    return [
        r.stateless_uniform([50, 20], np.array(seed, dtype))
        for dtype in (np.int32, np.int64)
        for seed in ([3, 5], [3, 6])
    ]


def _of_its_seed_alone(a: Any, b: Any, c: Any, d: Any) -> None:
    np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(b, d)
    assert (a != b).mean() > 0.9


def _drawn(*probabilities: float) -> Any:
    """How often each class was drawn is what was expected, within five standard errors."""

    def holds(x: Any) -> None:
        p = np.array(probabilities)
        assert x.shape == (2, N)
        counts = np.bincount(x[1], minlength=p.size)
        assert np.all(abs(counts - N * p) <= 5 * np.sqrt(N * p * (1 - p))), counts
        assert np.all(x[0] == 0)

    return holds


# The second row's probabilities, with a constant added to all logits; the first row has one class.
CHANCES = (0.5, 0.0, 0.125, 0.375)
INF = float("inf")
LOGITS = [[-90.0, -INF, -INF, -INF], [4.0, -INF, 4 - np.log(4), 4 + np.log(0.75)]]

SHAPE = np.array([N], np.int32)

CASES = [
    *(
        case
        for dtype in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
        for case in (
            _distribution(r.random_uniform_op, dtype, 0.5, 12**-0.5, 0.0, 1.0),
            _distribution(r.random_standard_normal, dtype, 0.0, 1.0, -8.0, 8.0),
            _distribution(r.truncated_normal_op, dtype, 0.0, 0.8796256610342398, -2.001, 2.001),
        )
    ),
    *(_small(op, *shape) for op in (r.random_uniform_op, r.random_standard_normal,
                                    r.truncated_normal_op)
      for shape in ((), (0, 3), (2, 3), (7,))),
    *(
        Case(r.random_uniform_int, (SHAPE, listed(-3, dtype), listed(5, dtype)), SEEDS,
             holds=_all_values,
             misuse=[
            Misuse((SHAPE, np.int32(5), np.int32(5)), "minval < maxval", ValueError),
            Misuse((SHAPE, [1], 5), "a scalar minval"),
            Misuse((SHAPE, listed(5, dtypes.int32), listed(5, dtypes.int32)), "",
                   InvalidArgumentError),
        ])
        for dtype in (dtypes.int32, dtypes.int64)
    ),
    Case(_shuffled, (numbers(50, 2),), holds=_same_rows, covers=["RandomShuffle"], gradient=False),
    Case(r.random_shuffle_op, (numbers(0, 3),), SEEDS, oracle=lambda x: x, gradient=False),
    Case(r.random_shuffle_op, (listed([[1, 2]]),), SEEDS, oracle=lambda x: x, dtypes=[dtypes.int32],
         gradient=False),
    Case(r.random_uniform, ([N], -1.0, 3.0), {"seed": 1},
         holds=_moments(1.0, 4 * 12**-0.5, -1.0, 3.0)),
    Case(r.random_uniform, ([N], -3, 5), {"seed": 1, "dtype": "int32"}, holds=_all_values),
    Case(r.random_normal, ([N], 2.0, 0.5), {"seed": 1}, holds=_moments(2.0, 0.5, -3.0, 7.0)),
    Case(r.truncated_normal, ([N], 2.0, 0.5), {"seed": 1},
         holds=_moments(2.0, 0.4398128305171199, 0.99, 3.01)),
    *(
        Case(r.stateless_random_uniform, ([N], np.array([7, 11], np.int32)), {"dtype": dtype},
             holds=_moments(0.5, 12**-0.5, 0.0, 1.0))
        for dtype in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
    ),
    *(
        Case(r.stateless_random_uniform, (np.array(shape, np.int64), np.array([7, 11])),
             {"dtype": dtypes.float32}, misuse=[
            Misuse(([-1], [7, 11]), "0 or more"),
            Misuse(([2], [7, 11, 13]), "the length of seed"),
            Misuse(([2], 7), "rank 1"),
        ])
        for shape in ((), (0, 3), (2, 3))
    ),
    Case(_stateless, holds=_of_its_seed_alone,
         covers=["StatelessRandomUniform"]),
    Case(r.stateless_uniform, ([N], [1, 2], -1.0, 3.0),
         holds=_moments(1.0, 4 * 12**-0.5, -1.0, 3.0)),
    *(
        Case(r.multinomial_op, (listed(LOGITS), N), {"output_dtype": dtype, **SEEDS},
             holds=_drawn(*CHANCES), gradient=False,
             misuse=[
            Misuse((numbers(3), 2), "rank 2"),
            Misuse((numbers(3, 2), [2]), "a scalar num_samples"),
            Misuse((numbers(3, 2), -1), "num_samples of 0 or more"),
            Misuse((numbers(3, 0), 1), "one class or more"),
            Misuse((listed([[0.0], [np.nan]]), 1), "row 1", InvalidArgumentError),
            Misuse((listed([[0.0, INF]]), 1), "row 0", InvalidArgumentError),
            Misuse((listed([[-INF, -INF]]), 1), "row 0", InvalidArgumentError),
        ])
        for dtype in (dtypes.int32, dtypes.int64)
    ),
    *(Case(r.multinomial, (numbers(*shape), samples), {"seed": 1}, gradient=False)
      for shape, samples in (((0, 3), 2), ((2, 3), 0), ((2, 0), 0), ((1, 1), 1))),
]  # fmt: skip
