"""Tests of layers: their variables, shapes and sharing."""

from collections.abc import Iterator

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph
from qanat.ops import layers, nn


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def _names() -> list[str]:
    return [variable.op.name for variable in ops.trainable_variables()]


def test_dense_on_any_rank() -> None:
    assert layers.dense(np.zeros((2, 3), np.float32), 4).shape == [2, 4]
    assert layers.dense(placeholder(dtypes.float32, [None, 5, 3]), 4).shape.as_list() == [None, 5,
                                                                                          4]
    assert _names() == ["dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"]
    with pytest.raises(ShapeError, match="known last dimension"):
        layers.dense(placeholder(dtypes.float32, [2, None]), 4)
    with pytest.raises(TypeError, match=r"\[dense\] expected floating-point inputs, got .*int32"):
        layers.dense(placeholder(dtypes.int32, [2, 3]), 4)


def test_conv2d_and_pools() -> None:
    images = placeholder(dtypes.float32, [None, 28, 28, 1])
    maps = layers.conv2d(images, 8, 5, padding="same", activation=nn.relu, use_bias=False)
    assert maps.shape.as_list() == [None, 28, 28, 8] and maps.op.type == "Relu"
    assert layers.max_pooling2d(maps, 2, 2).shape.as_list() == [None, 14, 14, 8]
    assert layers.average_pooling2d(maps, 3, 2, "same").shape.as_list() == [None, 14, 14, 8]
    assert layers.conv2d(maps, 4, [3, 1], strides=2, dilation_rate=1).shape[1:] == [13, 14, 4]
    assert _names() == ["conv2d/kernel", "conv2d_1/kernel", "conv2d_1/bias"]
    with pytest.raises(ShapeError, match="channels_last"):
        layers.conv2d(images, 8, 5, data_format="channels_first")


def test_sharing_by_name() -> None:
    x = np.zeros((2, 3), np.float32)
    layers.dense(x, 4, name="shared")
    layers.dense(x, 4, name="shared", reuse=True)
    assert _names() == ["shared/kernel", "shared/bias"]


def test_flatten() -> None:
    assert layers.flatten(placeholder(dtypes.float32, [None, 2, 3])).shape.as_list() == [None, 6]
    assert layers.flatten(placeholder(dtypes.float32, [5])).shape == [5, 1]
    assert layers.flatten(placeholder(dtypes.float32, [0, 4])).shape == [0, 4]
    with pytest.raises(ShapeError, match="one unknown dimension"):
        layers.flatten(placeholder(dtypes.float32, [None, None]))


def test_dropout_while_training_only() -> None:
    x = placeholder(dtypes.float32, [2, 3])
    assert layers.dropout(x).op.type == "Identity"
    assert layers.dropout(x, training=True).op.type == "Mul"
    assert layers.dropout(x, training=placeholder(dtypes.bool_, [])).op.type == "Select"
