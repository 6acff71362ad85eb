"""Products of matrices by cuBLAS, through NVIDIA's own binding of it (nvmath-python)."""

import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from qanat.core.dtypes import DType, float32, float64
from qanat.kernels_cuda.driver import Driver
from qanat.kernels_cuda.memory_pool import MemoryPool

if TYPE_CHECKING:
    from qanat.kernels_cuda.device import DeviceArray

MODULE: Final = "nvmath.bindings.cublas"

# What NVIDIA advises for the GPUs that ask for most.
_WORKSPACE: Final = 32 << 20
_MOST: Final = 2**31  # sizes are ints of C


class Cublas:
    """cuBLAS on one stream of a GPU.

    float32 is computed as float32, not as TF32. Results repeat bit for bit: that is what cuBLAS
    promises for one stream, with a workspace of its own and no atomic operations. Calls come one
    after the other, as all use the one workspace.
    """

    def __init__(self, driver: Driver, stream: Any, pool: MemoryPool) -> None:
        """
        Raises:
            Exception: of whatever class: the binding or the library cannot be used.
        """
        self._binding = binding = driver.library(MODULE)
        self._lock = threading.Lock()
        self._workspace = pool.allocate(_WORKSPACE)
        self._handle = handle = binding.create()
        binding.set_stream(handle, driver.address(stream))
        binding.set_workspace(handle, self._workspace.address, _WORKSPACE)  # after the stream
        binding.set_math_mode(handle, binding.Math.DEFAULT_MATH)
        binding.set_atomics_mode(handle, binding.AtomicsMode.NOT_ALLOWED)
        binding.set_pointer_mode(handle, binding.PointerMode.HOST)
        self._gemm: dict[DType, Any] = {float32: binding.sgemm, float64: binding.dgemm}
        # The factors of the product and of what was there before: read when a call is made.
        self._factors = {dtype: np.array([1, 0], dtype.as_numpy) for dtype in self._gemm}

    def multiply(
        self,
        out: "DeviceArray",
        a: "DeviceArray",
        b: "DeviceArray",
        transpose_a: bool,
        transpose_b: bool,
    ) -> bool:
        """Fills `out` with a b, each transposed first if so asked. False if cuBLAS does not.

        cuBLAS has matrices by columns, for which memory by rows is the transposed matrix: it is
        asked for the transposed product, b' a'.
        """
        rows, columns = out.shape
        depth = a.shape[0] if transpose_a else a.shape[1]
        if 0 in (rows, columns, depth) or max(rows, columns, depth) >= _MOST:
            return False
        operation = self._binding.Operation
        one = self._factors[out.dtype].ctypes.data
        with self._lock:
            try:
                self._gemm[out.dtype](
                    self._handle,
                    operation.T if transpose_b else operation.N,
                    operation.T if transpose_a else operation.N,
                    columns,
                    rows,
                    depth,
                    one,
                    b.block.address,
                    b.shape[1],
                    a.block.address,
                    a.shape[1],
                    one + out.dtype.size,
                    out.block.address,
                    columns,
                )
            except self._binding.cuBLASError:
                return False
        return True
