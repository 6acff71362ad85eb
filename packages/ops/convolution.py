"""Two-dimensional convolution (as machine learning says it: cross-correlation) and its gradients.

Images are [batch, height, width, channels] (NHWC), filters [height, width, in channels, out
channels]. With strides s and dilations d,

    output[b, i, j, k] = sum over u, v, q of
        input[b, s_h * i + d_h * u, s_w * j + d_w * v, q] * filter[u, v, q, k].

Padding SAME gives ceil(size / stride) outputs, with the padding's odd element at the end; VALID
pads nothing; EXPLICIT pads by `explicit_paddings`, (before, after) for each of the four dimensions.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import shaping
from qanat.ops.shape_functions import Dims, as_int, dims_of_rank, same_dim, sizes

__all__ = ["conv2d", "conv2d_backprop_filter", "conv2d_backprop_input"]

T = Annotated[In, "T"]
Sizes = Annotated[In, "int32"]
Padding = Literal["SAME", "VALID", "EXPLICIT"]
DataFormat = Literal["NHWC", "NCHW"]
ATTRS = ("strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu")


@op("Conv2D", outputs="output: T", T=dtypes.FLOATING)
def conv2d_op(
    input: T,
    filter: T,
    *,
    strides: Sequence[int],
    padding: Padding,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: DataFormat = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Shapes:
    """2-D convolution; see `conv2d`. use_cudnn_on_gpu has no effect."""
    images, filters = dims_of_rank(input, "input", 4), dims_of_rank(filter, "filter", 4)
    window = _Window(strides, padding, explicit_paddings, data_format, dilations)
    return [TensorShape(window.output_dims(images, filters))]


class _Window:
    """How a filter moves over an image: the checked attributes of a convolution."""

    def __init__(
        self,
        strides: Sequence[int],
        padding: str,
        explicit: Sequence[int],
        data_format: str,
        dilations: Sequence[int],
    ) -> None:
        require_nhwc(data_format)
        self.strides = _spatial(strides, "strides")
        self.dilations = _spatial(dilations, "dilations")
        self.padding = padding
        self.paddings = _explicit_paddings(padding, explicit)

    def output_dims(self, images: Dims, filters: Dims) -> Dims:
        batch, *spans, channels = images
        *extents, filter_channels, out_channels = filters
        same_dim(channels, filter_channels, "the channels of input and filter")
        spatial = [
            window_positions(
                None if size is None else size + sum(around),
                None if extent is None else (extent - 1) * dilation + 1,
                stride,
                self.padding,
            )
            for size, extent, stride, dilation, around in zip(
                spans, extents, self.strides, self.dilations, self.paddings, strict=True
            )
        ]
        return (batch, *spatial, out_channels)


def require_nhwc(data_format: str) -> None:
    """Raises ShapeError for any other data_format than the one there are kernels for."""
    if data_format != "NHWC":
        raise ShapeError(f"expected data_format NHWC, got {data_format}")


def _spatial(values: Sequence[int], name: str) -> tuple[int, int]:
    """The entries for height and width of a list with one entry a dimension."""
    if len(values) != 4 or min(values, default=0) < 1 or values[0] != 1 or values[3] != 1:
        raise ShapeError(
            f"expected {name} as [1, height, width, 1], 1 or more each, got {list(values)}"
        )
    return values[1], values[2]


def _explicit_paddings(padding: str, explicit: Sequence[int]) -> list[tuple[int, int]]:
    if padding != "EXPLICIT":
        if explicit:
            raise ShapeError(
                f"expected explicit_paddings with padding EXPLICIT only, got {padding}"
            )
        return [(0, 0), (0, 0)]
    if len(explicit) != 8 or min(explicit) < 0 or any((*explicit[:2], *explicit[6:])):
        raise ShapeError(
            "expected explicit_paddings as [0, 0, top, bottom, left, right, 0, 0], "
            f"got {list(explicit)}"
        )
    return [(explicit[2], explicit[3]), (explicit[4], explicit[5])]


def window_positions(size: int | None, extent: int | None, stride: int, padding: str) -> int | None:
    """At how many positions a window of `extent` elements fits `size` elements.

    Raises:
        ShapeError: the window is empty, or exceeds the elements and nothing is padded.
    """
    if extent is not None and extent < 1:
        raise ShapeError("expected a window of at least one element, got an empty one")
    if padding == "SAME":
        return None if size is None else -(-size // stride)
    if size is None or extent is None:
        return None
    if size < extent:
        raise ShapeError(f"expected a window of at most {size} elements, got {extent}")
    return (size - extent) // stride + 1


def _attrs(op: Operation) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in ATTRS}


@conv2d_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, weights = op.inputs
    return [
        conv2d_backprop_input_op(shaping.shape_of(x), weights, grad, **_attrs(op)),
        conv2d_backprop_filter_op(x, shaping.shape_of(weights), grad, **_attrs(op)),
    ]


@op("Conv2DBackpropInput", outputs="output: T", T=dtypes.FLOATING)
def conv2d_backprop_input_op(
    input_sizes: Sizes,
    filter: T,
    out_backprop: T,
    *,
    strides: Sequence[int],
    padding: Padding,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: DataFormat = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Shapes:
    """The gradient of `conv2d` for its input, of shape input_sizes."""
    images = sizes(input_sizes, "input_sizes").with_rank(4)
    window = _Window(strides, padding, explicit_paddings, data_format, dilations)
    expected = window.output_dims(images.known_dims(), dims_of_rank(filter, "filter", 4))
    merge(TensorShape(expected), out_backprop.shape)
    return [images]


@conv2d_backprop_input_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    _, weights, out_backprop = op.inputs
    return [
        None,
        conv2d_backprop_filter_op(grad, shaping.shape_of(weights), out_backprop, **_attrs(op)),
        conv2d_op(grad, weights, **_attrs(op)),
    ]


@op("Conv2DBackpropFilter", outputs="output: T", T=dtypes.FLOATING)
def conv2d_backprop_filter_op(
    input: T,
    filter_sizes: Sizes,
    out_backprop: T,
    *,
    strides: Sequence[int],
    padding: Padding,
    use_cudnn_on_gpu: bool = True,
    explicit_paddings: Sequence[int] = (),
    data_format: DataFormat = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Shapes:
    """The gradient of `conv2d` for its filter, of shape filter_sizes."""
    filters = sizes(filter_sizes, "filter_sizes").with_rank(4)
    window = _Window(strides, padding, explicit_paddings, data_format, dilations)
    expected = window.output_dims(dims_of_rank(input, "input", 4), filters.known_dims())
    merge(TensorShape(expected), out_backprop.shape)
    return [filters]


@conv2d_backprop_filter_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    x, _, out_backprop = op.inputs
    return [
        conv2d_backprop_input_op(shaping.shape_of(x), grad, out_backprop, **_attrs(op)),
        None,
        conv2d_op(x, grad, **_attrs(op)),
    ]


def conv2d(
    input: Any,
    filter: Any = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: DataFormat = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Output:
    """2-D convolution of a batch of images; the formula stands above, in the module.

    Args:
        input: [batch, height, width, in channels], floating-point.
        filter: [height, width, in channels, out channels], the same dtype. `filters` is its newer
            name.
        strides: an int, [height, width] or [1, height, width, 1].
        padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]].
        use_cudnn_on_gpu: has no effect.
        data_format: "NHWC"; others are not supported.
        dilations: the distance of the filter's elements on the image, given as strides are.

    Returns:
        [batch, output height, output width, out channels].

    Raises:
        ShapeError: shapes or attributes do not fit; the filter exceeds the image and padding is
            VALID.
    """
    weights = shaping.one_of("filters", filters, "filter", filter)
    return conv2d_op(input, weights, **_given(strides, padding, data_format, dilations), name=name)


def _given(strides: Any, padding: Any, data_format: str, dilations: Any) -> dict[str, Any]:
    """The op's attributes for what the public functions take."""
    explicit: list[int] = []
    if not isinstance(padding, str):
        if padding is None:
            raise ValueError("[Conv2D] expected padding SAME, VALID or a list, got None")
        explicit = [size for pair in padding for size in pair]
        padding = "EXPLICIT"
    return {
        "strides": four_entries(strides, "strides"),
        "padding": padding,
        "explicit_paddings": explicit,
        "data_format": data_format,
        "dilations": four_entries(dilations, "dilations"),
    }


def four_entries(value: Any, name: str) -> list[int]:
    """[1, height, width, 1] from an int, [both], [height, width] or all four.

    Raises:
        TypeError: it is, or holds, something else than ints.
        ValueError: there are other numbers of them.
    """
    values = [] if value is None else [value] if np.ndim(value) == 0 else list(value)
    values = [as_int(entry, name) for entry in values]
    if len(values) == 4:
        return values
    if len(values) not in (1, 2):
        raise ValueError(f"expected {name} as an int or a list of 1, 2 or 4 ints, got {value}")
    return [1, values[0], values[-1], 1]


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: DataFormat = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Output:
    """The gradient of `conv2d` for its input.

    Args:
        input_sizes: the shape of that input, an int32 vector.
        out_backprop: the gradient for the output of `conv2d`; other arguments are those of
            `conv2d`.

    Raises:
        ShapeError: out_backprop has not the shape that `conv2d` would give.
    """
    weights = shaping.one_of("filters", filters, "filter", filter)
    attrs = _given(strides, padding, data_format, dilations)
    return conv2d_backprop_input_op(
        shaping.as_shape_input(input_sizes), weights, out_backprop, **attrs, name=name
    )


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Sequence[int]] | None = None,
    use_cudnn_on_gpu: bool = True,
    data_format: DataFormat = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Output:
    """The gradient of `conv2d` for its filter.

    Args:
        filter_sizes: the shape of that filter, an int32 vector.
        out_backprop: the gradient for the output of `conv2d`; other arguments are those of
            `conv2d`.

    Raises:
        ShapeError: out_backprop has not the shape that `conv2d` would give.
    """
    attrs = _given(strides, padding, data_format, dilations)
    return conv2d_backprop_filter_op(
        input, shaping.as_shape_input(filter_sizes), out_backprop, **attrs, name=name
    )
