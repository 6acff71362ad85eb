"""Scales and shifts after products become weights and biases, with the same results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph, Output
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.core.target import LocalTarget
from qanat.mobile_runtime.fold_scales import fold_scales
from qanat.mobile_runtime.freeze import freeze
from qanat.ops import nn

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(1)


def _numbers(*shape: int) -> Array:
    return RANDOM.uniform(0.5, 2, shape).astype(np.float32)


def _normalised(x: Output, channels: int) -> Output:
    return nn.batch_normalization(
        x, _numbers(channels), _numbers(channels), _numbers(channels), _numbers(channels), 1e-3
    )


def _conv(x: Output) -> Output:
    return nn.conv2d(x, _numbers(3, 3, 2, 4), 1, "SAME")


FOLDED: dict[str, tuple[Callable[[Output], Output], list[str]]] = {
    "batch norm": (lambda x: _normalised(_conv(x), 4), ["Conv2D", "BiasAdd"]),
    "batch norm after a bias": (
        lambda x: _normalised(nn.bias_add(_conv(x), _numbers(4)), 4),
        ["Conv2D", "BiasAdd"],
    ),
    "scalars": (lambda x: (_conv(x) / 4.0 - 3.0) * 2.0, ["Conv2D", "BiasAdd"]),
    "a constant first": (lambda x: 2.0 + 3.0 * _conv(x), ["Conv2D", "BiasAdd"]),
    "fully connected": (
        lambda x: _normalised(ops.matmul(ops.reshape(x, [1, 50]), _numbers(50, 6)), 6),
        ["Reshape", "MatMul", "BiasAdd"],
    ),
    "fully connected, transposed": (
        lambda x: _normalised(
            ops.matmul(ops.reshape(x, [1, 50]), _numbers(6, 50), transpose_b=True), 6
        ),
        ["Reshape", "MatMul", "BiasAdd"],
    ),
    "two users of the product": (
        lambda x: (lambda y: y * 2.0 + nn.relu(y))(_conv(x)),
        ["Conv2D", "Mul", "Relu", "Add"],
    ),
    "a factor for each pixel": (lambda x: _conv(x) * _numbers(5, 5, 1), ["Conv2D", "Mul"]),
    "more than the product has": (lambda x: _conv(x) * _numbers(2, 5, 5, 4), ["Conv2D", "Mul"]),
    "what has no inverse": (lambda x: 1.0 / _conv(x) + 3.0, ["Conv2D", "RealDiv", "Add"]),
}


@pytest.mark.parametrize("name", FOLDED)
def test_the_same_results_with_fewer_ops(name: str) -> None:
    make, expected = FOLDED[name]
    with Graph().as_default():
        x = placeholder(dtypes.float32, [None, 5, 5, 2])
        frozen = freeze(Session(), {"x": x}, {"y": make(x)})
    folded = fold_scales(frozen.step)
    kinds = [node.op for node in folded if node.op not in ("_Arg", "Const")]
    assert sorted(kinds) == sorted(expected)
    given = [_numbers(1, 5, 5, 2)]
    before, after = (
        LocalTarget(SessionConfig(threads=1)).compile(step)[1].run(given, 60.0)[0]
        for step in (frozen.step, folded)
    )
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)
