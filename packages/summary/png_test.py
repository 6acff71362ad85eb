"""PNG files, read back by another's reader."""

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from qanat.summary.png import encode_png


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (64, 33)])
def test_pixels_come_back(channels: int, size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*size, channels)).astype(np.uint8)
    given = np.asarray(Image.open(io.BytesIO(encode_png(pixels))))
    np.testing.assert_array_equal(given.reshape(pixels.shape), pixels)


def test_a_smooth_picture_is_small() -> None:
    pixels = np.broadcast_to(np.arange(256, dtype=np.uint8)[:, None, None], (256, 256, 1))
    assert len(encode_png(pixels)) < 1000


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((2, 2, 1)), "expected uint8 pixels .* got float64"),
        (np.zeros((2, 2, 2), np.uint8), r"got uint8 \[2, 2, 2\]"),
        (np.zeros((2, 2), np.uint8), r"got uint8 \[2, 2\]"),
        (np.zeros((0, 2, 1), np.uint8), "got one of 0 x 2 pixels"),
    ],
)
def test_misuse(pixels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_png(pixels)
