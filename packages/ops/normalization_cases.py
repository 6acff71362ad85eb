"""Cases of normalisation."""

from typing import Any

import numpy as np

from qanat.core.testing.case import Case, numbers
from qanat.ops import normalization as n


def _normalized(x: Any, mean: Any, variance: Any, offset: Any, scale: Any, epsilon: Any) -> Any:
    return scale * (x - mean) / np.sqrt(variance + epsilon) + offset


def _l2(x: Any, axis: Any) -> Any:
    return x / np.sqrt(np.sum(x * x, axis=axis, keepdims=True))


def _kept(x: Any) -> None:
    kept = x[x != 0]
    assert abs(kept.size / x.size - 0.75) < 0.03, kept.size
    np.testing.assert_allclose(kept, 1 / 0.75, rtol=1e-6)


def _rows_kept(x: Any) -> None:
    assert all(len(set(row)) == 1 for row in x.tolist())


def _dropped(x: Any, **how: Any) -> Any:
    return n.dropout(x, seed=3, **how)


ONES = np.ones((100, 100), np.float32)
POSITIVE = {"low": 0.5, "high": 2.0}

CASES = [
    Case(n.moments, (numbers(3, 4), [0]), oracle=lambda x, axes: [x.mean(0), x.var(0)],
         tolerance=16.0),
    Case(n.moments, (numbers(2, 3, 4), [0, 2]), {"keepdims": True}, tolerance=16.0,
         oracle=lambda x, axes: [x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)]),
    Case(n.batch_normalization, (numbers(3, 4), numbers(4), numbers(4, **POSITIVE), numbers(4),
                                 numbers(4), 1e-3),
         oracle=_normalized, tolerance=16.0),
    Case(n.l2_normalize, (numbers(3, 4), 1), oracle=_l2, tolerance=8.0),
    Case(_dropped, (ONES,), {"rate": 0.25}, holds=_kept),
    Case(_dropped, (ONES,), {"keep_prob": 0.75}, holds=_kept),
    Case(_dropped, (ONES,), {"rate": 0.5, "noise_shape": [100, 1]}, holds=_rows_kept),
    Case(_dropped, (numbers(2, 3),), {"rate": 0}, oracle=lambda x: x),
]  # fmt: skip
