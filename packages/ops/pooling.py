"""Maximum and average over windows that move over images [batch, height, width, channels]."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import shaping
from qanat.ops.convolution import DataFormat, four_entries, require_nhwc, window_positions
from qanat.ops.shape_functions import dims_of_rank, sizes

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]

T = Annotated[In, "T"]
Padding = Literal["SAME", "VALID"]
ATTRS = ("ksize", "strides", "padding", "data_format")


def _pooled(
    shape: TensorShape, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str
) -> TensorShape:
    """The shape function of all pools."""
    require_nhwc(data_format)
    for values, name in ((ksize, "ksize"), (strides, "strides")):
        if len(values) != 4 or min(values, default=0) < 1 or values[0] != 1 or values[3] != 1:
            raise ShapeError(
                f"expected {name} as [1, height, width, 1], 1 or more each, got {list(values)}"
            )
    batch, *spans, channels = shape.with_rank(4).known_dims()
    spatial = [
        window_positions(size, extent, stride, padding)
        for size, extent, stride in zip(spans, ksize[1:3], strides[1:3], strict=True)
    ]
    return TensorShape((batch, *spatial, channels))


def _attrs(op: Operation) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ATTRS}


@op("MaxPool", outputs="output: T", T=dtypes.REAL)
def max_pool_op(
    input: T,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
) -> Shapes:
    """The maximum over each window; see `max_pool`."""
    dims_of_rank(input, "input", 4)
    return [_pooled(input.shape, ksize, strides, padding, data_format)]


@max_pool_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [max_pool_grad(op.inputs[0], op.outputs[0], grad, **_attrs(op))]


@op("MaxPoolGrad", outputs="output: T", T=dtypes.REAL)
def max_pool_grad(
    orig_input: T,
    orig_output: T,
    grad: T,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
) -> Shapes:
    """The gradient of MaxPool: each element of grad goes to the first maximum of its window."""
    pooled = _pooled(orig_input.shape, ksize, strides, padding, data_format)
    merge(merge(pooled, orig_output.shape), grad.shape)
    return [orig_input.shape.with_rank(4)]


@max_pool_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y, _ = op.inputs
    return [None, None, max_pool_grad_grad(x, y, grad, **_attrs(op))]


@op("MaxPoolGradGrad", outputs="output: T", T=dtypes.REAL)
def max_pool_grad_grad(
    orig_input: T,
    orig_output: T,
    grad: T,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
) -> Shapes:
    """The gradient of MaxPoolGrad: for each window the element of grad at its first maximum."""
    merge(orig_input.shape, grad.shape)
    pooled = _pooled(orig_input.shape, ksize, strides, padding, data_format)
    return [merge(pooled, orig_output.shape)]


@max_pool_grad_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, y, _ = op.inputs
    return [None, None, max_pool_grad(x, y, grad, **_attrs(op))]


@op("AvgPool", outputs="output: T", T=dtypes.FLOATING)
def avg_pool_op(
    value: T,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
) -> Shapes:
    """The mean over each window; see `avg_pool`."""
    dims_of_rank(value, "value", 4)
    return [_pooled(value.shape, ksize, strides, padding, data_format)]


@avg_pool_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [
        avg_pool_grad(shaping.shape_of(op.inputs[0]), grad, **_attrs(op)),
    ]


@op("AvgPoolGrad", outputs="output: T", T=dtypes.FLOATING)
def avg_pool_grad(
    orig_input_shape: Annotated[In, "int32"],
    grad: T,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
) -> Shapes:
    """The gradient of AvgPool: each element of grad in equal shares to its window."""
    images = sizes(orig_input_shape, "orig_input_shape").with_rank(4)
    merge(_pooled(images, ksize, strides, padding, data_format), grad.shape)
    return [images]


@avg_pool_grad.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [None, avg_pool_op(grad, **_attrs(op))]


def max_pool(
    value: Any,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Output:
    """The maximum over each window of a batch of images.

    Args:
        value: [batch, height, width, channels], real numbers. `input` is its newer name.
        ksize: the window: an int, [height, width] or [1, height, width, 1].
        strides: how far apart windows are, given as ksize is.
        padding: "SAME" (ceil(size / stride) windows; what is outside the image does not count) or
            "VALID".
        data_format: "NHWC"; others are not supported.

    Returns:
        [batch, output height, output width, channels]. NaN if there is one in the window. The
        gradient goes to the first maximum of each window.

    Raises:
        ShapeError: the rank is not 4, or a window exceeds the image and padding is VALID.
    """
    return max_pool_op(
        shaping.one_of("input", input, "value", value),
        ksize=four_entries(ksize, "ksize"),
        strides=four_entries(strides, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


def avg_pool(
    value: Any,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: Padding,
    data_format: DataFormat = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Output:
    """The mean over each window of a batch of images; with SAME over the window's part inside the
    image.

    Arguments, shape and errors are those of `max_pool`; value is floating-point.
    """
    return avg_pool_op(
        shaping.one_of("input", input, "value", value),
        ksize=four_entries(ksize, "ksize"),
        strides=four_entries(strides, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


max_pool2d = max_pool
avg_pool2d = avg_pool
