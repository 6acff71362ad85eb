"""The GPU that kernels are tried on: the emulated one, or this machine's where it is asked for."""

import os
from collections import Counter
from typing import Any, Final

from qanat.kernels_cuda.driver import Driver
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.pycuda_driver import drivers

VARIABLE: Final = "QANAT_TEST_GPU"
"""Of the environment: 1 has tests run on the first GPU of this machine."""


def on_real_gpu() -> bool:
    return os.environ.get(VARIABLE) == "1"


def chosen_driver(**how: Any) -> Any:
    """A driver that counts its calls, and has `check_memory`.

    Args:
        how: of the EmulatedDriver; nothing for a real GPU.

    Raises:
        NoGpu: a real one is asked for, and there is none.
    """
    return CountedDriver(drivers()[0]) if on_real_gpu() else EmulatedDriver(**how)


class CountedDriver:
    """A driver whose calls are counted as the emulator counts its own.

    Attributes:
        calls: how often each function was called.
    """

    def __init__(self, driver: Driver) -> None:
        self.calls: Counter[str] = Counter()
        self._driver = driver
        self._streams: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._driver, name)
        if callable(found):
            self.calls[name] += 1
        return found

    def stream(self) -> Any:
        self.calls["stream"] += 1
        self._streams.append(self._driver.stream())
        return self._streams[-1]

    def check_memory(self) -> None:
        """Waits for the work of all streams, whose failures show then; what lies beside a block is
        not watched."""
        with self._driver.active():
            for stream in self._streams:
                self._driver.synchronise(self._driver.record(stream))
