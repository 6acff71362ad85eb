"""Kernels of the summary ops."""

from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from qanat.core.proto_values import make_tensor_proto
from qanat.core.python_kernel import python_kernel
from qanat.summary.histogram import histogram_of
from qanat.summary.pictures import to_pixels
from qanat.summary.png import encode_png
from qanat.summary.summary_pb2 import Summary, SummaryMetadata

Array = np.ndarray[Any, Any]


@python_kernel("ScalarSummary")
def _(tags: Any, values: Any) -> bytes:
    tags, values = np.asarray(tags, object), np.asarray(values)
    if tags.shape != values.shape:
        raise ValueError(
            f"expected a value a tag, got {list(values.shape)} for the tags {list(tags.shape)}"
        )
    summary = Summary()
    for tag, value in zip(tags.flat, values.flat, strict=True):
        summary.value.add(tag=_text(tag), simple_value=float(value))
    return summary.SerializeToString()


@python_kernel("HistogramSummary")
def _(tag: bytes, values: Array) -> bytes:
    name = _text(tag)
    try:
        histogram = histogram_of(values)
    except ValueError as error:
        raise ValueError(f"{error} of {name!r}") from None
    return Summary(value=[Summary.Value(tag=name, histo=histogram)]).SerializeToString()


@python_kernel("ImageSummary")
def _(tag: bytes, tensor: Array, *, max_images: int, bad_color: Array) -> bytes:
    images = tensor[:max_images]
    batch, height, width, channels = images.shape
    if bad_color.size < channels:
        raise ValueError(f"expected a bad_color of {channels} channels, got {bad_color.size}")
    summary = Summary()
    for i, pixels in enumerate(to_pixels(images, bad_color[:channels]) if batch else ()):
        name = f"{_text(tag)}/image" + (f"/{i}" if max_images > 1 else "")
        image = Summary.Image(height=height, width=width, colorspace=channels)
        image.encoded_image_string = encode_png(pixels)
        summary.value.add(tag=name, image=image)
    return summary.SerializeToString()


@python_kernel("TensorSummaryV2")
def _(tag: bytes, tensor: Any, serialized_summary_metadata: bytes) -> bytes:
    value = Summary.Value(tag=_text(tag), tensor=make_tensor_proto(tensor))
    value.metadata.CopyFrom(_parsed(SummaryMetadata, serialized_summary_metadata))
    return Summary(value=[value]).SerializeToString()


@python_kernel("MergeSummary")
def _(*inputs: Any) -> bytes:
    merged = Summary()
    seen = set()
    for serialized in (text for group in inputs for text in np.asarray(group, object).flat):
        for value in _parsed(Summary, serialized).value:
            if value.tag in seen:
                raise ValueError(f"expected tags that differ, got {value.tag!r} twice")
            seen.add(value.tag)
            merged.value.append(value)
    return merged.SerializeToString()


def _text(tag: bytes) -> str:
    return tag.decode("utf-8", "replace")


def _parsed(kind: Any, serialized: bytes) -> Any:
    try:
        return kind.FromString(serialized)
    except DecodeError:
        raise ValueError(
            f"expected a serialized {kind.__name__}, got {serialized[:40]!r}"
        ) from None
