"""Layers as functions: thin compositions that make their own variables.

    hidden = layers.dense(images, 128, activation=nn.relu)

The variables are `kernel` and `bias` in the variable scope `name` ("dense", "dense_1", ... if not
given); with reuse they are shared.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from qanat.core import base_ops, dtypes
from qanat.core.constants import describe
from qanat.core.errors import ShapeError
from qanat.core.graph import GraphKeys, Output, add_to_collection, convert_to_tensor
from qanat.ops import (
    activations,
    comparison,
    convolution,
    initializers,
    linalg,
    normalization,
    pooling,
    shaping,
)
from qanat.ops.variable_scope import get_variable, variable_scope

__all__ = [
    "average_pooling2d",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "max_pooling2d",
]

Activation = Callable[[Output], Output] | None
DataFormat = Literal["channels_last", "channels_first"]


def dense(
    inputs: Any,
    units: int,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = initializers.zeros,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Output:
    """activation(inputs @ kernel + bias): a fully connected layer.

    Args:
        inputs: floating-point [..., features], features known.
        units: the size of the result's last dimension.
        activation: applied to the result, if given.
        use_bias: whether to add a bias.
        kernel_initializer, bias_initializer: of the variables; see `get_variable`.
        kernel_regularizer, bias_regularizer: functions of the variables; their results join
            REGULARIZATION_LOSSES.
        activity_regularizer: the same of the result.
        kernel_constraint, bias_constraint, trainable: see `Variable`.
        name, reuse: of the variable scope.

    Returns:
        [..., units].

    Raises:
        ShapeError: the number of features is not known.
        TypeError: inputs are not floating-point, or activation is no function.
    """
    inputs = convert_to_tensor(inputs)
    _check(inputs, activation, "dense")
    features = inputs.shape[-1] if inputs.shape.rank else None
    if features is None:
        raise ShapeError(f"[dense] expected inputs with a known last dimension, got {inputs.shape}")
    with variable_scope(name, "dense", [inputs], reuse=reuse):
        kernel = get_variable(
            "kernel",
            [features, units],
            inputs.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
            constraint=kernel_constraint,
        )
        result = _times(inputs, kernel)
        if use_bias:
            bias = get_variable(
                "bias",
                [units],
                inputs.dtype,
                bias_initializer,
                bias_regularizer,
                trainable,
                constraint=bias_constraint,
            )
            result = activations.bias_add(result, bias)
        return _finished(result, activation, activity_regularizer)


def _check(inputs: Output, activation: Activation, layer: str) -> None:
    """Weights of integers cannot be trained, and an activation is called."""
    if activation is not None and not callable(activation):
        raise TypeError(
            f"[{layer}] expected activation to be a function such as qn.nn.relu, or None, got "
            f"{describe(activation)}"
        )
    if inputs.dtype not in dtypes.FLOATING | dtypes.COMPLEX:
        raise TypeError(f"[{layer}] expected floating-point inputs, got {inputs!r}; cast them")


def _times(inputs: Output, kernel: Any) -> Output:
    """inputs, [..., features], times the matrix kernel."""
    if inputs.shape.rank == 2:
        return linalg.mat_mul(inputs, kernel)
    flat = linalg.mat_mul(shaping.reshape(inputs, [-1, inputs.shape[-1]]), kernel)
    leading = inputs.shape.as_list()[:-1]
    if leading.count(None) > 1:
        raise ShapeError(f"[dense] expected at most one unknown dimension, got {inputs.shape}")
    sizes = [-1 if size is None else size for size in leading]
    return shaping.reshape(flat, [*sizes, kernel.shape[-1]])


def _finished(result: Output, activation: Activation, regularizer: Any) -> Output:
    if activation is not None:
        result = activation(result)
    if regularizer is not None:
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(result))
    return result


def conv2d(
    inputs: Any,
    filters: int,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: DataFormat = "channels_last",
    dilation_rate: int | Sequence[int] = (1, 1),
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = initializers.zeros,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Output:
    """activation(conv2d(inputs, kernel) + bias): a convolutional layer.

    Args:
        inputs: floating-point [batch, height, width, channels], channels known.
        filters: the number of output channels.
        kernel_size: an int or [height, width].
        strides, dilation_rate: see `nn.conv2d`.
        padding: "valid" or "same".
        data_format: "channels_last"; others are not supported.
        Others: see `dense`.

    Returns:
        [batch, output height, output width, filters].

    Raises:
        ShapeError: inputs are no images, or the number of channels is not known.
    """
    _require_channels_last(data_format)
    inputs = convert_to_tensor(inputs)
    _check(inputs, activation, "conv2d")
    channels = inputs.shape.with_rank(4)[-1]
    if channels is None:
        raise ShapeError(f"[conv2d] expected a known number of channels, got {inputs.shape}")
    height, width = convolution.four_entries(kernel_size, "kernel_size")[1:3]
    with variable_scope(name, "conv2d", [inputs], reuse=reuse):
        kernel = get_variable(
            "kernel",
            [height, width, channels, filters],
            inputs.dtype,
            kernel_initializer,
            kernel_regularizer,
            trainable,
            constraint=kernel_constraint,
        )
        result = convolution.conv2d(
            inputs, kernel, strides, padding.upper(), dilations=dilation_rate
        )
        if use_bias:
            bias = get_variable(
                "bias",
                [filters],
                inputs.dtype,
                bias_initializer,
                bias_regularizer,
                trainable,
                constraint=bias_constraint,
            )
            result = activations.bias_add(result, bias)
        return _finished(result, activation, activity_regularizer)


def _require_channels_last(data_format: str) -> None:
    if data_format != "channels_last":
        raise ShapeError(f"expected data_format channels_last, got {data_format}")


def max_pooling2d(
    inputs: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str = "valid",
    data_format: DataFormat = "channels_last",
    name: str | None = None,
) -> Output:
    """`nn.max_pool`, with padding "valid" or "same"."""
    _require_channels_last(data_format)
    return pooling.max_pool(inputs, pool_size, strides, _pool_padding(padding), name=name)


def average_pooling2d(
    inputs: Any,
    pool_size: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str = "valid",
    data_format: DataFormat = "channels_last",
    name: str | None = None,
) -> Output:
    """`nn.avg_pool`, with padding "valid" or "same"."""
    _require_channels_last(data_format)
    return pooling.avg_pool(inputs, pool_size, strides, _pool_padding(padding), name=name)


def _pool_padding(padding: str) -> Literal["SAME", "VALID"]:
    return "SAME" if padding.upper() == "SAME" else "VALID"


def flatten(inputs: Any, name: str | None = None) -> Output:
    """inputs, [batch, ...], as a matrix [batch, the product of the other dimensions].

    Raises:
        ShapeError: inputs are a scalar, or batch and another dimension are unknown.
    """
    inputs = convert_to_tensor(inputs)
    if not inputs.shape.rank:
        raise ShapeError(f"[flatten] expected inputs of known rank 1 or more, got {inputs.shape}")
    batch, *others = inputs.shape.as_list()
    known = [size for size in others if size is not None]
    if len(known) == len(others):
        return shaping.reshape(
            inputs, [-1 if batch is None else batch, math.prod(known)], name=name
        )
    if batch is None:
        raise ShapeError(f"[flatten] expected one unknown dimension at most, got {inputs.shape}")
    return shaping.reshape(inputs, [batch, -1], name=name)


def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Output:
    """`nn.dropout` while training, else inputs.

    Args:
        training: a bool, or a scalar bool tensor that each step decides anew.
        Others: see `nn.dropout`.
    """
    if training is False:
        return base_ops.identity(inputs, name=name)
    dropped = normalization.dropout(
        inputs, noise_shape=noise_shape, seed=seed, rate=rate, name=name
    )
    return dropped if training is True else comparison.select(training, dropped, inputs)
