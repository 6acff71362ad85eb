"""Tensors as pictures: which numbers become which colours."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# No number of an image is larger: the image counts as zero all over.
_ZERO = 1e-6


def to_pixels(images: Array, bad_colour: Array) -> Array:
    """Numbers as pixels, each image by itself.

    uint8 stays as it is. An image of reals that holds a negative number is scaled so that zero
    becomes 128 and the largest magnitude 1 or 255; one without is scaled from [0, max] to [0, 255].
    One that is zero all over becomes one colour. A pixel with a number that is not finite gets the
    bad colour.

    Args:
        images: uint8 or reals [batch, height, width, channels].
        bad_colour: uint8 [channels].

    Returns:
        uint8 of the same shape.
    """
    if images.dtype == np.uint8:
        return images
    return np.stack([_image_to_pixels(np.asarray(i, np.float64), bad_colour) for i in images])


def _image_to_pixels(image: Array, bad_colour: Array) -> Array:
    good = np.isfinite(image).all(axis=-1)
    finite = image[good]
    least, greatest = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    largest = max(abs(least), abs(greatest))
    span, offset = (127.0, 128.0) if least < 0 else (255.0, 0.0)
    scale = span / largest if largest > _ZERO else 0.0
    pixels = np.empty(image.shape, np.uint8)
    pixels[good] = np.clip(finite * scale + offset, 0, 255)
    pixels[~good] = bad_colour
    return pixels
