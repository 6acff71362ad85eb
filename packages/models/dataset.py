"""Fashion-MNIST: 60,000 + 10,000 grey images of 28x28 in ten classes of clothes.

Source: Xiao, Rasul and Vollgraf, "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine
Learning Algorithms" (2017).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from qanat.models.data_files import DataError, bundled_folder
from qanat.models.idx import Array, read_idx

CLASSES = (
    "T-shirt", "trouser", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip
SIDE = 28


@dataclass(frozen=True)
class Examples:
    """Labelled images.

    Attributes:
        images: uint8 [n, 28, 28], 0 is the background.
        labels: int32 [n], indices into CLASSES.
    """

    images: Array
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, size: int) -> Iterator["Examples"]:
        """All examples in their order; the last batch may be smaller."""
        for start in range(0, len(self), size):
            yield Examples(self.images[start : start + size], self.labels[start : start + size])

    def shuffled_batches(
        self, size: int, seed: int, epoch: int, skip: int = 0
    ) -> Iterator["Examples"]:
        """One epoch in an order that depends on (seed, epoch) only; examples that fill no batch are
        left out.

        Args:
            size: examples a batch.
            seed: a non-negative number.
            epoch: a non-negative number.
            skip: how many batches to leave out at the start, to go on where an earlier run ended.
        """
        order = np.random.default_rng([seed, epoch]).permutation(len(self))
        for start in range(skip * size, len(self) - size + 1, size):
            chosen = order[start : start + size]
            yield Examples(self.images[chosen], self.labels[chosen])


def load(data_dir: str | None) -> tuple[Examples, Examples]:
    """The training and the test examples.

    Args:
        data_dir: the folder of the four IDX files, compressed or not; by default the data that
            Bazel put beside this program.

    Raises:
        DataError: a file is missing, corrupt, or does not fit the others.
    """
    folder = Path(data_dir) if data_dir else bundled_folder("fashion_mnist", "--data_dir")
    return _load(folder, "train"), _load(folder, "t10k")


def _load(folder: Path, part: str) -> Examples:
    images_path = _find(folder, f"{part}-images-idx3-ubyte")
    labels_path = _find(folder, f"{part}-labels-idx1-ubyte")
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or images.shape[1:] != (SIDE, SIDE):
        raise DataError(
            f"{images_path}: expected images of {SIDE}x{SIDE}, got the shape {list(images.shape)}"
        )
    if labels.shape != images.shape[:1]:
        raise DataError(
            f"{labels_path}: expected a label for each of the {len(images)} images of "
            f"{images_path}, got the shape {list(labels.shape)}"
        )
    wrong = np.flatnonzero(labels >= len(CLASSES))
    if wrong.size:
        raise DataError(
            f"{labels_path}: expected labels in [0, {len(CLASSES)}), got {labels[wrong[0]]} at "
            f"position {wrong[0]}"
        )
    return Examples(images, labels.astype(np.int32))


def _find(folder: Path, name: str) -> str:
    """The file, compressed or not."""
    for path in (folder / name, folder / (name + ".gz")):
        if path.exists():
            return str(path)
    raise DataError(f"{folder}: expected a file {name} or {name}.gz, found neither")
