"""A GPU: arrays in its memory, kernels launched on them, transfers to and from the host."""

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from qanat.core.device_library import Array
from qanat.core.dtypes import DType, as_dtype
from qanat.core.python_kernel import empty
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.cublas import Cublas
from qanat.kernels_cuda.cudnn_graphs import Cudnn
from qanat.kernels_cuda.driver import Driver
from qanat.kernels_cuda.libraries import opened
from qanat.kernels_cuda.memory_pool import Block, MemoryPool
from qanat.kernels_cuda.transfers import Transfers

Dims = tuple[int, ...]

# Threads of a block: kBlock of cu/common.cuh.
BLOCK = 256


class DeviceArray:
    """Elements in the device's memory, row by row. It is never written to once it is made.

    Attributes:
        shape: the sizes.
        dtype: of the elements.
        size: their number.
    """

    __slots__ = ("block", "dtype", "shape", "size")

    def __init__(self, block: Block, shape: Sequence[int], dtype: DType) -> None:
        self.block = block
        self.shape: Dims = tuple(shape)
        self.dtype = dtype
        self.size = prod(self.shape)

    def reshaped(self, shape: Sequence[int]) -> "DeviceArray":
        """The same elements, seen as another shape."""
        return DeviceArray(self.block, shape, self.dtype)


class Gpu:
    """A GPU of this process, which all sessions share.

    All kernels run on one stream, in the order in which they are launched: so a variable's updates
    are never lost, and a block of memory is used again without waiting. Copies have streams of
    their own. Whoever calls has made the GPU `active`.

    Attributes:
        driver: of the GPU.
        pool: of its memory.
        cublas, cudnn: multiply matrices and convolve; None where they are not to be used.
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.pool = MemoryPool(driver)
        with driver.active():
            self._compute = driver.stream()
            self._transfers = Transfers(driver, self._compute)
            self.cublas = opened("cublas", lambda: Cublas(driver, self._compute, self.pool))
            self.cudnn = opened("cudnn", lambda: Cudnn(driver, self._compute, self.pool))
        self._functions: dict[tuple[str, str], Any] = {}

    def empty(self, shape: Sequence[int], dtype: DType) -> DeviceArray:
        """An array for a kernel to fill.

        Raises:
            ResourceExhaustedError: there is no memory for it.
        """
        shape = tuple(shape)
        return DeviceArray(self.pool.allocate(prod(shape) * dtype.size), shape, dtype)

    def upload(self, array: Array) -> DeviceArray:
        """A copy of an array on the device."""
        made = self.empty(array.shape, as_dtype(array.dtype))
        if array.size:
            self._transfers.upload(made.block.address, _bytes_of(np.ascontiguousarray(array)))
        return made

    def download(self, arrays: Sequence[DeviceArray]) -> list[Array]:
        """Copies of arrays on the host, once all that makes them has run."""
        made = [empty(array.dtype, array.shape) for array in arrays]
        self._transfers.download(
            [
                (_bytes_of(host), array.block.address)
                for host, array in zip(made, arrays, strict=True)
                if array.size
            ]
        )
        return made

    def launch(self, module: str, function: str, grid: Sequence[int], *parameters: Any) -> None:
        """Gives a kernel to the device.

        Args:
            module: the name of its source, `cu/<module>.cu`.
            grid: the number of blocks, up to three; nothing runs where one is 0.
            parameters: DeviceArrays and None for pointers, ints, floats, and structs as bytes.
        """
        if 0 in grid:
            return
        key = (module, function)
        found = self._functions.get(key)
        if found is None:
            found = self._functions[key] = self.driver.function(module, function)
        dims = (*grid, 1, 1)[:3]
        self.driver.launch(found, dims, (BLOCK, 1, 1), pack(*parameters), self._compute)

    def blocks(self, count: int) -> tuple[int]:
        """The grid for a loop over `count` elements that strides over the grid."""
        return (min(-(-count // BLOCK), 16 * self.driver.processors),)


def sizes_of(shape: TensorShape) -> Dims:
    """A shape that is fully known, as an array has it."""
    dims: Any = shape.known_dims()
    return tuple(dims)


def _bytes_of(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)


def pack(*parameters: Any) -> bytes:
    """Parameters of a kernel, 8 bytes each but for structs, as `cu/common.cuh` has them."""
    kinds: list[str] = []
    values: list[Any] = []
    for value in parameters:
        if isinstance(value, DeviceArray):
            kinds.append("Q")
            values.append(value.block.address)
        elif value is None:
            kinds.append("Q")
            values.append(0)
        elif isinstance(value, bytes):
            kinds.append(f"{len(value)}s")
            values.append(value)
        else:
            kinds.append("d" if isinstance(value, float) else "q")
            values.append(value)
    return _packing("".join(kinds)).pack(*values)


@lru_cache(maxsize=4096)
def _packing(kinds: str) -> struct.Struct:
    return struct.Struct("<" + kinds)
