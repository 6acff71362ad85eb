"""Text, floats and bools are not taken for the ints, and text not for the bools, that arguments
have to be."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph
from qanat.ops import layers, nn, slicing
from qanat.ops.shape_functions import as_bool, as_int

X = np.ones((2, 3, 3, 2), np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


NO_INTS: list[Any] = ["1", "01", 1.0, 1.5, True, np.float32(1), np.array("1")]


@pytest.mark.parametrize("given", NO_INTS, ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        lambda axis: ops.reduce_sum(X, axis),
        lambda axis: ops.reduce_sum(X, reduction_indices=axis),
        lambda axis: ops.reduce_mean(X, [axis]),
        lambda axis: ops.reduce_max(X, axis),
        lambda axis: ops.reduce_prod(X, axis),
        lambda axis: ops.reduce_any(X > 0, axis),
        lambda axis: ops.reduce_logsumexp(X, axis),
        lambda axis: ops.count_nonzero(X, axis),
        lambda axis: ops.argmax(X, axis),
        lambda axis: ops.squeeze(X[:, :1], axis),
        lambda axis: ops.unstack(X, axis=axis),
        lambda axis: ops.stack([X, X], axis),
        lambda axis: ops.concat([X, X], axis),
        lambda axis: ops.tensordot(X, X, axis),
        lambda axis: ops.boolean_mask(X, [True, False, True], axis=axis),
        lambda parts: ops.split(X, parts),
        lambda axis: ops.split(X, 2, axis),
        lambda stop: slicing.getitem(placeholder(dtypes.float32, [3]), slice(0, stop)),
        lambda size: ops.zeros([size]),
        lambda size: ops.ones((size, 2)),
        lambda size: ops.fill([size], 0.5),
        lambda size: ops.random_normal([size]),
        lambda size: ops.random_uniform([size]),
        lambda axis: nn.moments(X, axis),
        lambda axis: nn.l2_normalize(X, axis),
        lambda axis: nn.softmax(X, axis),
        lambda axis: nn.log_softmax(X, axis),
        lambda size: nn.max_pool(X, size, 1, "SAME"),
        lambda pad: nn.conv2d(X, X[:1, :1, :2], 1, [[0, 0], [pad, 0], [0, 0], [0, 0]]),
        lambda size: layers.conv2d(X, 2, size),
        lambda size: layers.conv2d(X, 2, 1, strides=(1, size)),
        lambda units: layers.dense(X, units),
    ],
)
def test_what_is_no_int(function: Callable[[Any], Any], given: Any) -> None:
    with pytest.raises(TypeError, match="expected .*, got "):
        function(given)


@pytest.mark.parametrize("given", ["False", 1, "", np.array([True])], ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        lambda keep: ops.reduce_sum(X, 1, keep),
        lambda keep: ops.reduce_all(X > 0, 1, keep_dims=keep),
        lambda keep: ops.reduce_logsumexp(X, 1, keep),
        lambda keep: nn.moments(X, [1], keepdims=keep),
    ],
)
def test_what_is_no_bool(function: Callable[[Any], Any], given: Any) -> None:
    with pytest.raises(TypeError, match="expected keepdims to be a bool, got "):
        function(given)


def test_a_shape_is_no_text() -> None:
    with pytest.raises(TypeError, match="expected a shape of integers"):
        ops.zeros("23")


def test_what_is_an_int() -> None:
    assert [as_int(n, "n") for n in (-1, np.int8(2), np.array(3))] == [-1, 2, 3]
    assert [as_bool(b, "b") for b in (True, np.bool_(False))] == [True, False]
    several: list[Any] = [[-3], range(1, 2), np.array([1], np.uint8), [np.int64(1)]]
    for axis in [1, np.int64(1), *several]:
        assert ops.reduce_sum(X, axis).shape == [2, 3, 2]
    nothings: list[Any] = [[], (), np.array([])]
    for nothing in nothings:
        assert ops.reduce_sum(X, nothing).shape == X.shape
    for shape in ([2, np.int64(3)], np.array([2, 3])):
        assert ops.zeros(shape).shape == [2, 3]
    assert ops.zeros(3).shape == [3] and ops.zeros([]).shape == []
    first: Any = np.int64(0)
    assert ops.squeeze(np.ones((1, 2)), first).shape == [2]
    assert ops.tensordot(X, X, [[0, 1], [0, 1]]).shape == [3, 2, 3, 2]


def test_an_activation_is_a_function() -> None:
    relu: Any = "relu"
    with pytest.raises(TypeError, match=r"\[dense\] expected activation to be.*got 'relu'"):
        layers.dense(X, 2, relu)
    with pytest.raises(TypeError, match=r"\[conv2d\] expected activation to be.*got 'relu'"):
        layers.conv2d(X, 2, 1, activation=relu)
    assert not ops.trainable_variables()
