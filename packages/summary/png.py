"""Pictures as PNG files (ISO/IEC 15948), 8 bits a channel, by zlib alone."""

import struct
import zlib
from typing import Any

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# By the number of channels: grayscale, RGB, RGBA.
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}
_LEVEL = 6


def encode_png(pixels: np.ndarray[Any, Any]) -> bytes:
    """The PNG file of a picture.

    Each row is filtered by "up", the difference to the row above, which helps with most pictures
    and needs no choice.

    Args:
        pixels: uint8 [height, width, channels], no dimension 0; 1, 3 or 4 channels.

    Raises:
        ValueError: pixels are something else.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in _COLOUR_TYPES:
        raise ValueError(
            "expected uint8 pixels [height, width, 1, 3 or 4], got "
            f"{pixels.dtype} {list(pixels.shape)}"
        )
    height, width, channels = pixels.shape
    if not height or not width:
        raise ValueError(f"expected a picture, got one of {height} x {width} pixels")
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = 2  # the filter "up"
    flat = pixels.reshape(height, width * channels)
    rows[0, 1:] = flat[0]
    np.subtract(flat[1:], flat[:-1], out=rows[1:, 1:])
    data = zlib.compress(rows.tobytes(), _LEVEL)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
