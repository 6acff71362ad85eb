"""What the disk gives: a file written and synchronised, and read, front to back."""

import os

import numpy as np

from tests.performance.checkpoint_files import folder, tensors, timed, timed_cold
from tests.performance.interleaved import Work


def write(mebibytes: int) -> Work:
    path, values = folder() / "file", tensors(mebibytes)

    def save() -> None:
        with open(path, "wb", buffering=0) as file:
            for value in values:
                file.write(value.data)
            os.fsync(file.fileno())

    return timed(save)


def read(mebibytes: int) -> Work:
    files, values = folder(), tensors(mebibytes)
    with open(files / "file", "wb") as file:
        for value in values:
            file.write(value.data)
        os.fsync(file.fileno())
    targets = [np.empty_like(value) for value in values]

    def load() -> None:
        with open(files / "file", "rb", buffering=0) as file:
            for target in targets:
                file.readinto(target.data)

    return timed_cold(files, "file", load)
