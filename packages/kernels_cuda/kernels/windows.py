"""The windows that convolutions and pools move over images."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

Dims = tuple[int, ...]


class Window(NamedTuple):
    """How a window moves over images.

    Attributes:
        images: batch, height, width and channels.
        outputs: the same of the outputs.
        size: rows and columns of the window.
        strides, dilations: by row and by column.
        before: padding before the first row and column.
    """

    images: Dims
    outputs: Dims
    size: Dims
    strides: Dims
    dilations: Dims
    before: Dims

    @property
    def after(self) -> Dims:
        """Padding after the last row and column: as much as the outputs reach."""
        reach = covered(self.outputs[1:3], self.size, self.strides, self.dilations)
        sizes = zip(reach, self.images[1:3], self.before, strict=True)
        return tuple([max(end - size - before, 0) for end, size, before in sizes])

    def struct(self) -> bytes:
        """The struct Window of `cu/window.cuh`."""
        numbers = (*self.images, *self.outputs[1:], *self.size, *self.strides, *self.dilations)
        return struct.pack("<15q", *numbers, *self.before)


def covered(outputs: Dims, size: Dims, strides: Dims, dilations: Dims) -> list[int]:
    """How many rows and columns all positions of a window cover together."""
    return [
        (count - 1) * stride + (extent - 1) * dilation + 1
        for count, extent, stride, dilation in zip(outputs, size, strides, dilations, strict=True)
    ]


def window_of(
    images: Sequence[int],
    window: Sequence[int],
    outputs: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> Window:
    """The window of an op.

    Args:
        images: batch, height, width and channels.
        window: rows and columns; of a filter's four sizes these are the first.
        outputs: as images, of the outputs.
        strides, padding, explicit, dilations: the op's attributes.
    """
    size, steps, gaps = tuple(window[:2]), tuple(strides[1:3]), tuple(dilations[1:3])
    before: Dims = (0, 0)
    if padding == "SAME":
        reach = covered(tuple(outputs[1:3]), size, steps, gaps)
        sizes = zip(reach, images[1:3], strict=True)
        before = tuple([max(end - have, 0) // 2 for end, have in sizes])
    elif padding == "EXPLICIT":
        before = (explicit[2], explicit[4])
    return Window(tuple(images), tuple(outputs), size, steps, gaps, before)
