"""cuBLAS as its documentation has it, by NumPy: what stands for `nvmath.bindings.cublas`.

Matrices lie by columns, `ld` elements from one to the next. Work is done in the order of the
handle's stream. What cuBLAS leaves to chance if it is not set fails here.
"""

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from qanat.kernels_cuda.emulator.driver import EmulatedDriver

Array = np.ndarray[Any, Any]


class Operation(IntEnum):
    N = 0
    T = 1


class Math(IntEnum):
    DEFAULT_MATH = 0
    TF32_TENSOR_OP_MATH = 3


class AtomicsMode(IntEnum):
    NOT_ALLOWED = 0
    ALLOWED = 1


class PointerMode(IntEnum):
    HOST = 0
    DEVICE = 1


class cuBLASError(Exception):  # noqa: N801, N818 (the binding's name)
    """A call that cuBLAS refuses."""


@dataclass
class _Handle:
    stream: int = 0
    workspace: tuple[int, int] | None = None
    math: int = Math.DEFAULT_MATH


class FakeCublas:
    """The functions of the binding, with its parameters' names.

    Attributes:
        calls: how often each product was made.
        refuses: whether it makes none.
    """

    Operation = Operation
    Math = Math
    AtomicsMode = AtomicsMode
    PointerMode = PointerMode
    cuBLASError = cuBLASError  # noqa: N815

    def __init__(self, driver: EmulatedDriver, refuses: bool = False) -> None:
        self.calls: Counter[str] = Counter()
        self.refuses = refuses
        self._driver = driver
        self._handles: dict[int, _Handle] = {}

    def create(self) -> int:
        handle = len(self._handles) + 1
        self._handles[handle] = _Handle()
        return handle

    def set_stream(self, handle: int, stream_id: int) -> None:
        self._handles[handle].stream = stream_id
        self._handles[handle].workspace = None  # it is cuBLAS's own again

    def set_workspace(self, handle: int, workspace: int, workspace_size_in_bytes: int) -> None:
        self._handles[handle].workspace = workspace, workspace_size_in_bytes

    def set_math_mode(self, handle: int, mode: int) -> None:
        self._handles[handle].math = mode

    def set_atomics_mode(self, handle: int, mode: int) -> None:
        assert mode == AtomicsMode.NOT_ALLOWED, "sums would have no order"

    def set_pointer_mode(self, handle: int, mode: int) -> None:
        assert mode == PointerMode.HOST, "the factors are read on the host"

    def sgemm(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int,
        lda: int, b: int, ldb: int, beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        self._gemm("sgemm", np.float32, handle, (transa, transb), (m, n, k), (alpha, beta),
                   (a, b, c), (lda, ldb, ldc))  # fmt: skip

    def dgemm(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int,
        lda: int, b: int, ldb: int, beta: int, c: int, ldc: int,
    ) -> None:  # fmt: skip
        self._gemm("dgemm", np.float64, handle, (transa, transb), (m, n, k), (alpha, beta),
                   (a, b, c), (lda, ldb, ldc))  # fmt: skip

    def _gemm(
        self,
        name: str,
        dtype: Any,
        handle: int,
        transposed: tuple[int, int],
        extent: tuple[int, int, int],
        factors: tuple[int, int],
        addresses: tuple[int, int, int],
        leading: tuple[int, int, int],
    ) -> None:
        """c = alpha a b + beta c, where c is m x n and the depth is k.

        `factors` are the addresses of alpha and beta, which are read now.
        """
        self.calls[name] += 1
        number = np.ctypeslib.as_ctypes_type(dtype)
        alpha, beta = (number.from_address(address).value for address in factors)
        state = self._handles[handle]
        assert state.workspace is not None, "the workspace would be shared among streams"
        assert state.math == Math.DEFAULT_MATH, "float32 would be rounded to TF32"
        m, n, k = extent
        shapes = [(k, m) if transposed[0] else (m, k), (n, k) if transposed[1] else (k, n), (m, n)]
        short = any(ld < max(1, rows) for ld, (rows, _) in zip(leading, shapes, strict=True))
        if self.refuses or min(extent) < 0 or short:
            raise cuBLASError("CUBLAS_STATUS_INVALID_VALUE (7)")
        a, b, c = (
            self._matrix(address, shape, ld, dtype)
            for address, shape, ld in zip(addresses, shapes, leading, strict=True)
        )
        scratch = self._driver.memory_at(*state.workspace, np.uint8)

        def work() -> None:
            scratch[:64] = 0xAB
            made = alpha * ((a.T if transposed[0] else a) @ (b.T if transposed[1] else b))
            c[...] = made + beta * c if beta else made

        self._driver.give(state.stream, work)

    def _matrix(self, address: int, shape: tuple[int, int], ld: int, dtype: Any) -> Array:
        rows, columns = shape
        memory = self._driver.memory_at(address, ld * (columns - 1) + rows, dtype)
        size = memory.itemsize
        return np.lib.stride_tricks.as_strided(memory, shape, (size, ld * size))
