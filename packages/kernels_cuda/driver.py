"""What the device needs of CUDA's driver. `pycuda_driver` has it of a GPU; `emulator.driver` runs
the same kernels on this machine's processor, for tests."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Dims = Sequence[int]


class OutOfMemory(Exception):
    """The device has no memory of the size that was asked for."""


class Driver(Protocol):
    """One GPU. Streams, events and functions are the driver's own objects.

    Work on one stream runs in order; on several it does not, but for events.

    Attributes:
        processors: how many of its multiprocessors run blocks at once.
    """

    processors: int

    def active(self) -> AbstractContextManager[Any]:
        """Makes the GPU the one that the calling thread works with."""

    def allocate(self, size: int) -> int:
        """The address of new memory.

        Raises:
            OutOfMemory: there is none.
        """

    def free(self, address: int) -> None:
        """Gives memory back that no work uses any more."""

    def page_locked(self, size: int) -> Bytes:
        """Memory of the host that copies can use beside all else."""

    def stream(self) -> Any:
        """A new stream."""

    def address(self, stream: Any) -> int:
        """A stream as CUDA's libraries take it."""

    def library(self, module: str) -> Any:
        """The Python module that binds one of CUDA's libraries.

        Raises:
            ImportError: it is not installed, or does not load.
        """

    def record(self, stream: Any) -> Any:
        """An event: the end of all that was given to the stream so far."""

    def wait(self, stream: Any, event: Any) -> None:
        """What is given to the stream from now on begins after the event."""

    def synchronise(self, event: Any) -> None:
        """Waits for an event."""

    def upload(self, address: int, host: Bytes, stream: Any) -> None:
        """Copies from page-locked memory to the device; returns before it has."""

    def download(self, host: Bytes, address: int, stream: Any) -> None:
        """Copies from the device to page-locked memory; returns before it has."""

    def function(self, module: str, name: str) -> Any:
        """The kernel `name` of `cu/<module>.cu`.

        Raises:
            OpError: it cannot be compiled.
        """

    def launch(
        self, function: Any, grid: Dims, block: Dims, parameters: bytes, stream: Any
    ) -> None:
        """Runs a kernel over a grid of blocks; returns before it has.

        Args:
            parameters: the kernel's, one behind the other.
        """
