"""Tests of initialisers: which random op, with which bounds."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from qanat.core import dtypes
from qanat.core.graph import Graph
from qanat.core.op_def import In
from qanat.ops import initializers


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def _scale(output: Any) -> float:
    """What the random numbers are multiplied by."""
    (product,) = [op for op in output.graph.get_operations() if op.type == "Mul"]
    return float(_value(product.inputs[1]))


def _value(output: Any) -> Any:
    return In(output).value


@pytest.mark.parametrize(
    ("make", "shape", "random", "scale"),
    [
        (initializers.glorot_uniform, [3, 5], "RandomUniform", 2 * math.sqrt(6 / 8)),
        (initializers.glorot_uniform, [2, 2, 3, 5], "RandomUniform", 2 * math.sqrt(6 / 32)),
        (initializers.he_uniform, [3, 5], "RandomUniform", 2 * math.sqrt(6 / 3)),
        (initializers.lecun_uniform, [7], "RandomUniform", 2 * math.sqrt(3 / 7)),
        (initializers.glorot_normal, [3, 5], "TruncatedNormal",
         math.sqrt(2 / 8) / 0.8796256610342398),
        (initializers.he_normal, [3, 5], "TruncatedNormal", math.sqrt(2 / 3) / 0.8796256610342398),
        (initializers.lecun_normal, [3, 5], "TruncatedNormal",
         math.sqrt(1 / 3) / 0.8796256610342398),
    ],
)
def test_fans_decide_the_scale(make: Any, shape: Any, random: str, scale: float) -> None:
    output = make(seed=1)(shape, dtype=dtypes.float64)
    assert random in {op.type for op in output.graph.get_operations()}
    assert _scale(output) == pytest.approx(scale)
    assert output.shape == shape and output.dtype is dtypes.float64


def test_constants() -> None:
    assert _value(initializers.constant(7)([2], dtype=dtypes.int32)).tolist() == [7, 7]
    assert _value(initializers.constant([[1.0, 2.0]])([2])).tolist() == [1, 2]
    assert initializers.zeros()([2, 3]).shape == [2, 3]
    assert initializers.ones(dtypes.int64)([]).dtype is dtypes.int64


@pytest.mark.parametrize("how", [{"scale": 0}, {"mode": "fan"}, {"distribution": "gamma"}])
def test_what_is_not_known_is_refused(how: Any) -> None:
    with pytest.raises(ValueError, match="variance_scaling"):
        initializers.variance_scaling(**how)
