"""A driver that counts calls and does nothing: what is left is what the device's Python costs."""

from collections import Counter
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from qanat.kernels_cuda.driver import Bytes, Dims


class CountingDriver:
    """See `qanat.kernels_cuda.driver.Driver`.

    Attributes:
        calls: how often each function was called.
    """

    processors: Final = 100

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._next = 256

    def active(self) -> Any:
        self.calls["active"] += 1
        return nullcontext()

    def allocate(self, size: int) -> int:
        self.calls["allocate"] += 1
        self._next += size
        return self._next - size

    def free(self, address: int) -> None:
        self.calls["free"] += 1

    def page_locked(self, size: int) -> Bytes:
        self.calls["page_locked"] += 1
        return np.zeros(size, np.uint8)

    def stream(self) -> None:
        self.calls["stream"] += 1

    def address(self, stream: Any) -> int:
        return 0

    def library(self, module: str) -> Any:
        raise ImportError("there is none for a driver that does nothing")

    def record(self, stream: Any) -> None:
        self.calls["record"] += 1

    def wait(self, stream: Any, event: Any) -> None:
        self.calls["wait"] += 1

    def synchronise(self, event: Any) -> None:
        self.calls["synchronise"] += 1

    def upload(self, address: int, host: Bytes, stream: Any) -> None:
        self.calls["upload"] += 1

    def download(self, host: Bytes, address: int, stream: Any) -> None:
        self.calls["download"] += 1

    def function(self, module: str, name: str) -> str:
        self.calls["function"] += 1
        return name

    def launch(
        self, function: str, grid: Dims, block: Dims, parameters: bytes, stream: Any
    ) -> None:
        self.calls["launch"] += 1
