"""The folder and the tensors of the checkpoint benches, and reading from the disk itself."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.performance.interleaved import Work

TENSORS = 16

Array = np.ndarray[Any, Any]


def tensors(mebibytes: int) -> list[Array]:
    """Random bytes, as `TENSORS` vectors of float32."""
    generator = np.random.default_rng(0)
    size = (mebibytes << 20) // TENSORS
    return [np.frombuffer(generator.bytes(size), np.float32) for _ in range(TENSORS)]


def folder() -> Path:
    """A new folder, where TMPDIR says: on the disk that is to be measured. It goes with the
    process's end."""
    made = tempfile.TemporaryDirectory(prefix="checkpoint_io", ignore_cleanup_errors=True)
    _folders.append(made)
    return Path(made.name)


_folders: list[Any] = []


def timed_cold(files: Path, pattern: str, read: Callable[[], Any]) -> Work:
    """Reads after the system has forgotten what it knows of the files; says how long it took."""

    def work() -> float:
        for path in files.glob(pattern):
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start = time.perf_counter()
        read()
        return time.perf_counter() - start

    return work


def timed(write: Callable[[], Any]) -> Work:
    """Says how long it took."""

    def work() -> float:
        start = time.perf_counter()
        write()
        return time.perf_counter() - start

    return work
