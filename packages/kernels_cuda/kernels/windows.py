"""The windows that convolutions and pools move over images."""

import struct
from collections.abc import Sequence


def window_struct(
    images: Sequence[int],
    window: Sequence[int],
    outputs: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int] = (),
    dilations: Sequence[int] = (1, 1, 1, 1),
) -> bytes:
    """The struct Window of `cu/window.cuh`.

    Args:
        images: batch, height, width and channels.
        window: rows and columns; of a filter's four sizes these are the first.
        outputs: as images, of the outputs.
        strides, padding, explicit, dilations: the op's attributes.
    """
    before = [0, 0]
    for i in range(2):
        if padding == "SAME":
            covered = (outputs[i + 1] - 1) * strides[i + 1] + (window[i] - 1) * dilations[i + 1] + 1
            before[i] = max(covered - images[i + 1], 0) // 2
        elif padding == "EXPLICIT":
            before[i] = explicit[2 * i + 2]
    numbers = (*images, *outputs[1:], *window[:2], *strides[1:3], *dilations[1:3], *before)
    return struct.pack("<15q", *numbers)
