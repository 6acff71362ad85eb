"""What users call to add summaries to a graph: operations that give serialized Summary messages."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from qanat.core import dtypes
from qanat.core.graph import (
    GraphKeys,
    Output,
    add_to_collections,
    convert_to_tensor,
    get_collection,
    name_scope,
)
from qanat.summary import kernels as _kernels  # noqa: F401  (registers them)
from qanat.summary import ops
from qanat.summary.summary_pb2 import SummaryMetadata


def scalar(
    name: str, tensor: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Output:
    """A number, to be shown over the steps.

    Args:
        name: of the node, and so, with the name scopes around it, the tag.
        tensor: a real scalar.
        collections: where to put the summary; [GraphKeys.SUMMARIES] if not given.
        family: goes before the name in the tag, and groups tags in TensorBoard.

    Returns:
        A string scalar, a serialized Summary.

    Raises:
        ShapeError: the tensor is known to be no scalar.
    """
    with _scope(name, family, tensor) as (tag, scope):
        return _collected(ops.scalar_summary(tag, tensor, name=scope), collections)


def histogram(
    name: str, values: Any, collections: Sequence[Any] | None = None, family: str | None = None
) -> Output:
    """How the elements of a tensor are distributed, to be shown over the steps.

    Args:
        values: reals of any shape. One that is not finite is an InvalidArgumentError of the step.
        name, collections, family: see `scalar`.
    """
    with _scope(name, family, values) as (tag, scope):
        return _collected(ops.histogram_summary(tag, values, name=scope), collections)


def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Output:
    """The first images of a batch.

    The tags are "<name>/image/0" and so on, "<name>/image" where max_outputs is 1. uint8 is shown
    as it is. Reals are scaled, each image by itself: from [0, max] to [0, 255], or, where one is
    negative, so that zero is 128 and the largest magnitude at an end. Pixels that are not finite
    are red.

    Args:
        tensor: uint8 or reals [batch, height, width, channels]; 1 channel is grayscale, 3 RGB, 4
            RGBA.
        max_outputs: how many images.
        name, collections, family: see `scalar`.

    Raises:
        ShapeError: the tensor has another rank or number of channels.
    """
    with _scope(name, family, tensor) as (tag, scope):
        summary = ops.image_summary(tag, tensor, max_images=max_outputs, name=scope)
        return _collected(summary, collections)


def text(name: str, tensor: Any, collections: Sequence[Any] | None = None) -> Output:
    """Strings, shown as Markdown; a matrix of them as a table.

    Args:
        tensor: strings of any shape.
        name, collections: see `scalar`.

    Raises:
        TypeError: the tensor holds no strings.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not dtypes.string:
        raise TypeError(f"[TensorSummaryV2] expected strings, got {tensor!r}")
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="text", content=b"")
    )
    return tensor_summary(name, tensor, metadata, collections)


def tensor_summary(
    name: str,
    tensor: Any,
    summary_metadata: Any = None,
    collections: Sequence[Any] | None = None,
    family: str | None = None,
) -> Output:
    """A tensor as it is.

    Args:
        tensor: of any type and shape.
        summary_metadata: a SummaryMetadata, which says what of TensorBoard shows it.
        name, collections, family: see `scalar`.
    """
    metadata = (summary_metadata or SummaryMetadata()).SerializeToString()
    with _scope(name, family, tensor) as (tag, scope):
        summary = ops.tensor_summary_v2(tag, tensor, metadata, name=scope)
        return _collected(summary, collections)


def merge(
    inputs: Sequence[Any], collections: Sequence[Any] | None = None, name: str | None = None
) -> Output:
    """One summary with the values of several, to be fetched and written at once.

    Two of one tag are an InvalidArgumentError of the step.

    Args:
        inputs: summaries.
        collections: where to put this one; nowhere if not given.
        name: of the node.

    Raises:
        TypeError: an input is no string.
    """
    with name_scope(name, "Merge", inputs) as scope:
        merged: Output = ops.merge_summary(list(inputs), name=scope)
        add_to_collections(collections or (), merged)
        return merged


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Output | None:
    """All summaries of the default graph as one; None where there are none.

    Args:
        key: the collection they are in.
        scope: only those whose names match this prefix or pattern.
        name: of the node.
    """
    summaries = get_collection(key, scope)
    return merge(summaries, name=name) if summaries else None


@contextmanager
def _scope(name: str, family: str | None, value: Any) -> Iterator[tuple[str, str]]:
    """The tag of a summary and the name scope to be its node's name. As in TensorFlow, characters
    that names may not have become "_"."""
    name, family = _clean(name), _clean(family or "")
    path = f"{family}/{name}" if family else name
    with name_scope(path, values=[value]) as scope:
        tag = scope.rstrip("/")
        yield (f"{family}/{tag}" if family else tag), scope


def _clean(name: str) -> str:
    return re.sub(r"[^-/\w.]", "_", name, flags=re.ASCII).lstrip("/")


def _collected(summary: Output, collections: Sequence[Any] | None) -> Output:
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    add_to_collections(keys, summary)
    return summary
