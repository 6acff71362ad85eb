"""Learning rates over the steps, against their formulas."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.training.schedules import (
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    piecewise_constant,
    polynomial_decay,
)

STEPS = [0, 1, 4, 5, 9, 10, 25]


def values(schedule: Callable[[Any], Any]) -> Any:
    with Graph().as_default():
        step = placeholder(dtypes.int64, [])
        rate = schedule(step)
        assert rate.dtype is dtypes.float32 and rate.shape == []
        with Session() as session:
            return [session.run(rate, {step: at}) for at in STEPS]


@pytest.mark.parametrize(
    ("schedule", "formula"),
    [
        (lambda s: exponential_decay(0.5, s, 10, 0.9), lambda t: 0.5 * 0.9 ** (t / 10)),
        (
            lambda s: exponential_decay(0.5, s, 5, 0.9, staircase=True),
            lambda t: 0.5 * 0.9 ** (t // 5),
        ),
        (lambda s: inverse_time_decay(0.5, s, 10, 2.0), lambda t: 0.5 / (1 + 2 * t / 10)),
        (
            lambda s: polynomial_decay(0.5, s, 10, 0.1, power=2.0),
            lambda t: 0.4 * (1 - min(t / 10, 1)) ** 2 + 0.1,
        ),
        (
            lambda s: cosine_decay(0.5, s, 10, alpha=0.1),
            lambda t: 0.5 * (0.9 * 0.5 * (1 + math.cos(math.pi * min(t / 10, 1))) + 0.1),
        ),
        (
            lambda s: piecewise_constant(s, [4, 9], [3.0, 2.0, 1.0]),
            lambda t: 3.0 if t <= 4 else 2.0 if t <= 9 else 1.0,
        ),
    ],
)
def test_a_schedule(schedule: Callable[[Any], Any], formula: Callable[[int], float]) -> None:
    np.testing.assert_allclose(values(schedule), [formula(t) for t in STEPS], rtol=1e-5)


def test_misuse() -> None:
    with Graph().as_default():
        with pytest.raises(ValueError, match="one value more than the 2 boundaries, got 2"):
            piecewise_constant(3, [1, 2], [1.0, 2.0])
        with pytest.raises(ValueError, match="expected increasing boundaries"):
            piecewise_constant(3, [2, 2], [1.0, 2.0, 3.0])
