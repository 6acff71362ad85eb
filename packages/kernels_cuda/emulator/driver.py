"""A driver that runs kernels on this machine's processor, as late and as badly as CUDA allows.

Work that is given to a stream waits until somebody waits for it: an event that was forgotten shows
as memory that was read before it was written. New memory holds NaNs, and is checked at its ends.
"""

import ctypes
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from qanat.kernels_cuda.driver import Bytes, Dims, OutOfMemory

LIBRARY: Final = Path(__file__).parent / "libqanat_emulated_kernels.so"

_GUARD: Final = 64
_POISON: Final = 0xFF  # all bits: NaN


class _Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint))


class _Launch(ctypes.Structure):
    _fields_ = (("grid", _Dim3), ("block", _Dim3), ("backwards", ctypes.c_bool))


class Stream:
    """Work that waits: functions, in order."""

    def __init__(self) -> None:
        self.work: deque[Callable[[], None]] = deque()


class Event:
    """A place in a stream.

    Attributes:
        reached: whether all before it has run.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.reached = False


class EmulatedDriver:
    """See `qanat.kernels_cuda.driver.Driver`.

    Attributes:
        calls: how often each function was called.
        launched: how often each kernel was.
    """

    processors = 4

    def __init__(
        self,
        backwards: bool = False,
        memory: int = 1 << 31,
        libraries: Mapping[str, Callable[["EmulatedDriver"], Any]] = MappingProxyType({}),
    ) -> None:
        """
        Args:
            backwards: whether the last thread of a block runs first.
            memory: bytes that the device has.
            libraries: what stands for CUDA's, by the module that binds each: made for the driver
                when it is asked for.
        """
        self.calls: Counter[str] = Counter()
        self.launched: Counter[str] = Counter()
        self._backwards = backwards
        self._memory = memory
        self._libraries = libraries
        self._lock = RLock()
        self._library = ctypes.CDLL(str(LIBRARY))
        self._blocks: dict[int, Bytes] = {}
        self._streams: list[Stream] = []
        self._active = 0

    @contextmanager
    def active(self) -> Iterator[None]:
        self.calls["active"] += 1
        with self._lock:
            self._active += 1
            try:
                yield
            finally:
                self._active -= 1

    def allocate(self, size: int) -> int:
        self._called("allocate")
        if size > self._memory:
            raise OutOfMemory
        self._memory -= size
        block = np.full(size + 2 * _GUARD + 16, _POISON, np.uint8)
        start = -block.ctypes.data % 16
        block = block[start : start + size + 2 * _GUARD]
        address: int = block.ctypes.data + _GUARD
        self._blocks[address] = block
        return address

    def free(self, address: int) -> None:
        self._called("free")
        for stream in self._streams:
            self._drain(stream)
        block = self._blocks.pop(address)
        self._memory += block.size - 2 * _GUARD
        _check_ends(block)

    def check_memory(self) -> None:
        """Runs all work; raises AssertionError where some of it wrote beside its memory."""
        for stream in self._streams:
            self._drain(stream)
        for block in self._blocks.values():
            _check_ends(block)

    def page_locked(self, size: int) -> Bytes:
        self._called("page_locked")
        return np.full(size, _POISON, np.uint8)

    def stream(self) -> Stream:
        self._called("stream")
        self._streams.append(Stream())
        return self._streams[-1]

    def address(self, stream: Stream) -> int:
        return 1 + self._streams.index(stream)

    def library(self, module: str) -> Any:
        if module not in self._libraries:
            raise ImportError("it is not emulated")
        return self._libraries[module](self)

    def give(self, stream: int, work: Callable[[], None]) -> None:
        """Has a stream, by its address, do what a library does."""
        self._streams[stream - 1].work.append(work)

    def memory_at(self, address: int, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """Elements of the device's memory, all of one block."""
        size = count * np.dtype(dtype).itemsize
        for start, block in self._blocks.items():
            first = address - start
            if 0 <= first and first + size <= block.size - 2 * _GUARD:
                return block[_GUARD + first : _GUARD + first + size].view(dtype)
        raise AssertionError(f"{size} bytes at {address:#x} are in no block")

    def record(self, stream: Stream) -> Event:
        self._called("record")
        event = Event(stream)
        stream.work.append(lambda: setattr(event, "reached", True))
        return event

    def wait(self, stream: Stream, event: Event) -> None:
        self._called("wait")
        stream.work.append(lambda: self._reach(event))

    def synchronise(self, event: Event) -> None:
        self._called("synchronise")
        self._reach(event)

    def upload(self, address: int, host: Bytes, stream: Stream) -> None:
        self._called("upload")
        stream.work.append(lambda: self._copy(address, host.ctypes.data, host.nbytes))

    def download(self, host: Bytes, address: int, stream: Stream) -> None:
        self._called("download")
        stream.work.append(lambda: self._copy(host.ctypes.data, address, host.nbytes))

    def function(self, module: str, name: str) -> Any:
        self._called("function")
        function = getattr(self._library, f"launch_{name}")
        function.restype = ctypes.c_char_p
        function.argtypes = (ctypes.POINTER(_Launch), ctypes.c_char_p, ctypes.c_size_t)
        return name, function

    def launch(
        self, function: Any, grid: Dims, block: Dims, parameters: bytes, stream: Stream
    ) -> None:
        self._called("launch")
        name, run = function
        self.launched[name] += 1
        assert min(*grid, *block) > 0 and max(grid[1:]) < 1 << 16, (
            f"{name}: CUDA has no grid {grid}"
        )
        launch = _Launch(_Dim3(*grid), _Dim3(*block), self._backwards)

        def work() -> None:
            failure = run(ctypes.byref(launch), parameters, len(parameters))
            assert failure is None, f"{name}: {failure.decode()}"

        stream.work.append(work)

    def _called(self, name: str) -> None:
        assert self._active, f"{name} was called while the GPU was not the thread's own"
        self.calls[name] += 1

    def _reach(self, event: Event) -> None:
        while not event.reached:
            event.stream.work.popleft()()

    def _drain(self, stream: Stream) -> None:
        while stream.work:
            stream.work.popleft()()

    @staticmethod
    def _copy(to: int, start: int, size: int) -> None:
        ctypes.memmove(to, start, size)


def _check_ends(block: Bytes) -> None:
    ends = (block[:_GUARD], block[-_GUARD:])
    assert all((end == _POISON).all() for end in ends), "a kernel wrote beside its memory"
