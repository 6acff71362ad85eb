"""Numbers become the pixels that TensorFlow makes of them."""

import numpy as np
import pytest

from qanat.summary.pictures import to_pixels

RED = np.array([255, 0, 0], np.uint8)


@pytest.mark.parametrize(
    ("numbers", "pixels"),
    [
        ([0.0, 0.5, 1.0], [0, 127, 255]),
        ([0.0, 2.0, 4.0], [0, 127, 255]),
        ([-1.0, 0.0, 1.0], [1, 128, 255]),
        ([-2.0, 0.0, 1.0], [1, 128, 191]),
        ([0.0, 0.0, 0.0], [0, 0, 0]),
        ([0.0, 1e-7, 0.0], [0, 0, 0]),
        ([1.0, np.nan, np.inf], [255, 77, 77]),
        ([np.nan, np.nan, np.nan], [77, 77, 77]),
    ],
)
def test_scaling(numbers: list[float], pixels: list[int]) -> None:
    images = np.array(numbers, np.float32).reshape(1, 1, 3, 1)
    given = to_pixels(images, np.array([77], np.uint8))
    assert given.dtype == np.uint8 and given.ravel().tolist() == pixels


def test_each_image_by_itself_and_a_pixel_as_a_whole() -> None:
    images = np.zeros((2, 1, 2, 3), np.float64)
    images[0, 0, 0] = [1, 2, np.nan]
    images[0, 0, 1] = [1, 0, 0]
    images[1, 0, 0] = [10, 0, 5]
    given = to_pixels(images, RED)
    assert given[0].tolist() == [[[255, 0, 0], [255, 0, 0]]]
    assert given[1].tolist() == [[[255, 0, 127], [0, 0, 0]]]


def test_bytes_stay() -> None:
    images = np.arange(6, dtype=np.uint8).reshape(1, 1, 2, 3)
    assert to_pixels(images, RED) is images
