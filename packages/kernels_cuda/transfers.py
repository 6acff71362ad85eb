"""Copies between host and device, on streams of their own and through page-locked memory."""

import threading
from collections.abc import Sequence
from typing import Any

from qanat.kernels_cuda.driver import Bytes, Driver
from qanat.kernels_cuda.memory_pool import rounded


class Transfers:
    """Copies that are in order with the work of one stream."""

    def __init__(self, driver: Driver, compute: Any) -> None:
        self._driver = driver
        self._compute = compute
        self._up = driver.stream()
        self._down = driver.stream()
        self._staging = _Staging(driver)

    def upload(self, address: int, host: Bytes) -> None:
        """Gives a copy to the device. The block may have been used by work that was given before;
        work that is given from now on finds the copy."""
        driver = self._driver
        staged = self._staging.take(host.nbytes)
        staged[: host.nbytes] = host
        driver.wait(self._up, driver.record(self._compute))
        driver.upload(address, staged[: host.nbytes], self._up)
        done = driver.record(self._up)
        driver.wait(self._compute, done)
        self._staging.give(staged, done)

    def download(self, copies: Sequence[tuple[Bytes, int]]) -> None:
        """Copies to the host what the work given so far makes, and waits for it.

        Args:
            copies: memory of the host, and the address that is copied to it.
        """
        if not copies:
            return
        driver = self._driver
        driver.wait(self._down, driver.record(self._compute))
        staged = [self._staging.take(host.nbytes) for host, _ in copies]
        for (host, address), memory in zip(copies, staged, strict=True):
            driver.download(memory[: host.nbytes], address, self._down)
        done = driver.record(self._down)
        driver.synchronise(done)
        for (host, _), memory in zip(copies, staged, strict=True):
            host[:] = memory[: host.nbytes]
            self._staging.give(memory, done)


class _Staging:
    """Page-locked memory, used again once the copies that use it are done."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = threading.Lock()
        self._idle: dict[int, list[tuple[Bytes, Any]]] = {}

    def take(self, size: int) -> Bytes:
        size = rounded(size)
        with self._lock:
            idle = self._idle.get(size)
            found = idle.pop(0) if idle else None
        if found is None:
            return self._driver.page_locked(size)
        memory, used_until = found
        self._driver.synchronise(used_until)
        return memory

    def give(self, memory: Bytes, used_until: Any) -> None:
        with self._lock:
            self._idle.setdefault(memory.nbytes, []).append((memory, used_until))
