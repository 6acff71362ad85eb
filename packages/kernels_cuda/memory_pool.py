"""Memory of the device, kept from step to step: the driver takes longer than most kernels."""

import threading
from collections import deque
from functools import lru_cache

from qanat.core.errors import ResourceExhaustedError
from qanat.kernels_cuda.driver import Driver, OutOfMemory

_SMALLEST = 256


@lru_cache(maxsize=4096)
def rounded(size: int) -> int:
    """The size of the block that `size` bytes get: with at most a quarter more than asked for."""
    size = max(size, _SMALLEST)
    step = max(_SMALLEST, 1 << max((size - 1).bit_length() - 3, 0))
    return -(-size // step) * step


class Block:
    """Memory that goes back to its pool with the last reference to it."""

    __slots__ = ("_pool", "address", "size")

    def __init__(self, pool: "MemoryPool", address: int, size: int) -> None:
        self._pool = pool
        self.address = address
        self.size = size

    def __del__(self) -> None:
        self._pool._returned.append((self.address, self.size))


class MemoryPool:
    """Hands blocks out again in the order of one stream.

    A block is given back when the host is done with giving out work on it, not when the work is
    done: whoever gets it next may use it only after all that the stream has been given by then.

    Attributes:
        reserved: bytes taken of the driver.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._lock = threading.Lock()
        self._idle: dict[int, list[int]] = {}
        # Filled by finalisers, which run anywhere, so it needs no lock.
        self._returned: deque[tuple[int, int]] = deque()
        self.reserved = 0

    @property
    def idle(self) -> int:
        """Bytes that could be given out again."""
        with self._lock:
            self._collect()
            return sum(size * len(addresses) for size, addresses in self._idle.items())

    def allocate(self, size: int) -> Block:
        """A block of at least `size` bytes, whose contents are undefined.

        Raises:
            ResourceExhaustedError: the device has no more memory.
        """
        size = rounded(size)
        with self._lock:
            self._collect()
            idle = self._idle.get(size)
            return Block(self, idle.pop() if idle else self._reserve(size), size)

    def _collect(self) -> None:
        while self._returned:
            address, size = self._returned.popleft()
            self._idle.setdefault(size, []).append(address)

    def _reserve(self, size: int) -> int:
        try:
            address = self._driver.allocate(size)
        except OutOfMemory:
            self._give_back()
            try:
                address = self._driver.allocate(size)
            except OutOfMemory:
                raise ResourceExhaustedError(
                    f"expected {size} bytes of the device's memory, got none beside the "
                    f"{self.reserved} that are in use"
                ) from None
        self.reserved += size
        return address

    def _give_back(self) -> None:
        """The driver waits for all work before it frees memory."""
        for size, addresses in self._idle.items():
            for address in addresses:
                self._driver.free(address)
            self.reserved -= size * len(addresses)
        self._idle.clear()
