"""CUDA's driver by PyCUDA. `import pycuda` needs no GPU but the driver's library."""

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from qanat.core.errors import UnavailableError
from qanat.kernels_cuda.compiler import Compiler, nvrtc
from qanat.kernels_cuda.driver import Bytes, Dims, OutOfMemory

# CU_STREAM_NON_BLOCKING: the stream does not wait for the default one.
_NON_BLOCKING = 1


class NoGpu(Exception):
    """There is no GPU to be used; the message says why, in one line."""


def drivers() -> "list[PyCudaDriver]":
    """One for each GPU.

    Raises:
        NoGpu: there is none, or what is needed to use it is not installed.
    """
    try:
        cuda: Any = importlib.import_module("pycuda.driver")
    except ModuleNotFoundError:
        raise NoGpu("no GPU: PyCUDA is not installed (pip install pycuda)") from None
    except ImportError as error:  # a library that it needs is missing
        raise NoGpu(f"no GPU: CUDA's driver is not installed ({_line(error)})") from None
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        raise NoGpu(f"no GPU: CUDA's driver finds none ({_line(error)})") from None
    if not count:
        raise NoGpu("no GPU: CUDA's driver finds none")
    try:
        nvrtc()
        return [PyCudaDriver(cuda, cuda.Device(index)) for index in range(count)]
    except UnavailableError as error:
        raise NoGpu(f"no GPU can be used: {_line(error)}") from None
    except cuda.Error as error:  # it is full, or another process has it for itself
        raise NoGpu(f"no GPU can be used ({_line(error)})") from None


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0].strip()


class PyCudaDriver:
    """One GPU; see `qanat.kernels_cuda.driver.Driver`.

    The context is the device's primary one, which other libraries of the process share.
    """

    def __init__(self, cuda: Any, device: Any) -> None:
        self._cuda = cuda
        self._context = device.retain_primary_context()
        major, minor = device.compute_capability()
        self._compiler = Compiler(f"sm_{major}{minor}")
        self._lock = threading.Lock()
        self._modules: dict[str, Any] = {}
        self._allocations: dict[int, Any] = {}
        self.processors: int = device.multiprocessor_count

    @contextmanager
    def active(self) -> Iterator[None]:
        self._context.push()
        try:
            yield
        finally:
            self._context.pop()

    def allocate(self, size: int) -> int:
        try:
            allocation = self._cuda.mem_alloc(size)
        except self._cuda.MemoryError:
            raise OutOfMemory from None
        address = int(allocation)
        self._allocations[address] = allocation
        return address

    def free(self, address: int) -> None:
        self._allocations.pop(address).free()

    def page_locked(self, size: int) -> Bytes:
        memory: Bytes = self._cuda.pagelocked_empty(size, np.uint8)
        return memory

    def stream(self) -> Any:
        return self._cuda.Stream(_NON_BLOCKING)

    def address(self, stream: Any) -> int:
        handle: int = stream.handle
        return handle

    def library(self, module: str) -> Any:
        return importlib.import_module(module)

    def record(self, stream: Any) -> Any:
        return self._cuda.Event(self._cuda.event_flags.DISABLE_TIMING).record(stream)

    def wait(self, stream: Any, event: Any) -> None:
        stream.wait_for_event(event)

    def synchronise(self, event: Any) -> None:
        event.synchronize()

    def upload(self, address: int, host: Bytes, stream: Any) -> None:
        self._cuda.memcpy_htod_async(address, host, stream)

    def download(self, host: Bytes, address: int, stream: Any) -> None:
        self._cuda.memcpy_dtoh_async(host, address, stream)

    def function(self, module: str, name: str) -> Any:
        with self._lock:
            if module not in self._modules:
                binary = self._compiler.compile(module)
                self._modules[module] = self._cuda.module_from_buffer(binary)
            return _Function(self._modules[module].get_function(name))

    def launch(
        self, function: Any, grid: Dims, block: Dims, parameters: bytes, stream: Any
    ) -> None:
        function.launch(tuple(grid), tuple(block), parameters, stream)


class _Function:
    """A kernel, whose parameters PyCUDA is given as they are: packed."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._size: int | None = None

    def launch(
        self, grid: tuple[int, ...], block: tuple[int, ...], parameters: bytes, stream: Any
    ) -> None:
        if self._size != len(parameters):
            self._size = len(parameters)
            self._function.prepare((np.dtype((np.void, self._size)),))
        self._function.prepared_async_call(grid, block, stream, parameters)
