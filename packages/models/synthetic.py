"""A small data set in Fashion-MNIST's format, for tests: stripes; where they are is the class."""

import gzip
import struct
from pathlib import Path

import numpy as np

from qanat.models.dataset import CLASSES, SIDE, Examples


def examples(count: int, seed: int) -> Examples:
    """Noisy images that a small network learns within a few dozen steps."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(CLASSES), count).astype(np.int32)
    images = random.integers(0, 60, (count, SIDE, SIDE)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        start = 5 * (label % 5) + 1
        stripe = image if label < 5 else image.T
        stripe[start : start + 4] += 180
    return Examples(images, labels)


def write(folder: Path, training: int, test: int) -> None:
    """The four files, compressed, with so many examples."""
    for part, count, seed in (("train", training, 1), ("t10k", test, 2)):
        made = examples(count, seed)
        shape = struct.pack(">HBB3I", 0, 8, 3, count, SIDE, SIDE)
        _write(folder / f"{part}-images-idx3-ubyte.gz", shape + made.images.tobytes())
        shape = struct.pack(">HBBI", 0, 8, 1, count)
        _write(folder / f"{part}-labels-idx1-ubyte.gz", shape + bytes(made.labels.tolist()))


def _write(path: Path, contents: bytes) -> None:
    path.write_bytes(gzip.compress(contents, compresslevel=1))
