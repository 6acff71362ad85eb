"""The summary ops: tensors to serialized `Summary` messages. Their kernels are in `kernels.py`."""

from typing import Annotated

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.op_def import In, Shapes, op
from qanat.core.shapes import TensorShape
from qanat.ops.shape_functions import require_scalar

String = Annotated[In, "string"]
T = Annotated[In, "T"]

_RED = np.array([255, 0, 0, 255], np.uint8)


@op("ScalarSummary", outputs="summary: string", differentiable=False, T=dtypes.REAL)
def scalar_summary(tags: String, values: T) -> Shapes:
    """A Summary with a number a tag.

    Args:
        tags: strings.
        values: of the shape of `tags`.
    """
    if not tags.shape.is_compatible_with(values.shape):
        raise ShapeError(f"expected a value a tag, got {values.shape} for the tags {tags.shape}")
    return [TensorShape([])]


@op("HistogramSummary", outputs="summary: string", differentiable=False, T=dtypes.REAL)
def histogram_summary(tag: String, values: T) -> Shapes:
    """A Summary with the histogram of all elements of `values`.

    An invalid-argument error of the step where one of them is not finite.

    Args:
        tag: a scalar.
        values: of any shape.
    """
    require_scalar(tag, "tag")
    return [TensorShape([])]


@op(
    "ImageSummary",
    outputs="summary: string",
    differentiable=False,
    T=dtypes.FLOATING | {dtypes.uint8},
)
def image_summary(
    tag: String,
    tensor: T,
    *,
    max_images: int = 3,
    bad_color: np.ndarray = _RED,
) -> Shapes:
    """A Summary with the first images of a batch, see `qanat.summary.image`.

    Args:
        tag: a scalar.
        tensor: [batch, height, width, channels], 1, 3 or 4 channels.
        max_images: how many, at least 1.
        bad_color: uint8, at least `channels` of them: of pixels that are not finite.
    """
    require_scalar(tag, "tag")
    channels = tensor.shape.with_rank(4)[3]
    if channels not in (None, 1, 3, 4):
        raise ShapeError(f"expected images of 1, 3 or 4 channels, got {tensor.shape}")
    if max_images < 1:
        raise ValueError(f"attr max_images: expected 1 or more, got {max_images}")
    if bad_color.dtype != np.uint8 or bad_color.ndim != 1 or bad_color.size < (channels or 1):
        raise ValueError(f"attr bad_color: expected a uint8 a channel, got {bad_color!r}")
    return [TensorShape([])]


@op("TensorSummaryV2", outputs="summary: string", differentiable=False, T=dtypes.ALL)
def tensor_summary_v2(tag: String, tensor: T, serialized_summary_metadata: String) -> Shapes:
    """A Summary with a tensor as it is.

    Args:
        tag: a scalar.
        tensor: of any shape.
        serialized_summary_metadata: a SummaryMetadata, a scalar.
    """
    require_scalar(tag, "tag")
    require_scalar(serialized_summary_metadata, "serialized_summary_metadata")
    return [TensorShape([])]


@op("MergeSummary", outputs="summary: string", differentiable=False)
def merge_summary(inputs: Annotated[list[In], "N * string"]) -> Shapes:
    """A Summary with the values of all; an invalid-argument error of the step where two have one
    tag.

    Args:
        inputs: serialized Summaries, of any shape.
    """
    return [TensorShape([])]
