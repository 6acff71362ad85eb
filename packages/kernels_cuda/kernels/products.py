"""Products of matrices: by cuBLAS where it is there, else by tiles."""

import struct
from typing import Any

from qanat.core.dtypes import DType
from qanat.core.errors import UnimplementedError
from qanat.kernels_cuda.device import DeviceArray, Dims
from qanat.kernels_cuda.kernel import FLOATS, Run, cuda_kernel
from qanat.kernels_cuda.kernels.reductions import reduce_middle

TILE = 64  # kTile of cu/product.cuh
# What one block sums at least, before the depth is shared among more.
_GRAIN = 256
_MOST = 2**31
_MOST_TILES = 65_535  # of a grid in its second direction


@cuda_kernel("MatMul", T=FLOATS)
def _(
    run: Run, a: DeviceArray, b: DeviceArray, *, transpose_a: bool, transpose_b: bool
) -> DeviceArray:
    return _matmul(run, a, b, transpose_a, transpose_b)


@cuda_kernel("_FusedMatMul", T=FLOATS)
def _(
    run: Run,
    a: DeviceArray,
    b: DeviceArray,
    bias: DeviceArray,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
) -> DeviceArray:
    return _matmul(run, a, b, transpose_a, transpose_b, bias, activation)


def _matmul(
    run: Run,
    a: DeviceArray,
    b: DeviceArray,
    transpose_a: bool,
    transpose_b: bool,
    bias: DeviceArray | None = None,
    activation: str = "",
) -> DeviceArray:
    cublas = run.gpu.cublas
    if cublas is not None:
        out = run.output()
        if cublas.multiply(out, a, b, transpose_a, transpose_b):
            return out if bias is None else finished(run, out, bias, activation)
    rows, depth = a.shape[::-1] if transpose_a else a.shape
    columns = b.shape[0] if transpose_b else b.shape[1]
    factors = (_matrix(a, transpose_a), _matrix(b, transpose_b))
    function = f"matmul_{a.dtype.name}"
    return product(
        run,
        "matmul",
        function,
        (rows, columns, depth),
        a.dtype,
        factors,
        (epilogue(bias, activation),),
        may_split=bias is None,
    ).reshaped((rows, columns))


def finished(run: Run, sums: DeviceArray, bias: DeviceArray, activation: str) -> DeviceArray:
    """What a library has just made, with the rest of a fused node done in place."""
    end = epilogue(bias, activation)
    run.each("matmul", f"finish_{sums.dtype.name}", sums.size, sums, sums.size, sums.shape[-1], end)
    return sums


def product(
    run: Run,
    module: str,
    function: str,
    extent: Dims,
    dtype: DType,
    factors: tuple[Any, ...],
    ends: tuple[bytes, ...] = (),
    may_split: bool = True,
) -> DeviceArray:
    """Launches a product by tiles.

    Args:
        extent: rows, columns and depth.
        dtype: of the result.
        factors: the kernel's parameters between the output and the extent.
        ends: those after the extent.
        may_split: whether the depth may be shared among blocks, whose sums are added up.
    """
    rows, columns, depth = extent
    if max(extent) >= _MOST:
        raise UnimplementedError(f"expected sizes below 2^31 on a GPU, got {list(extent)}")
    tiles = (-(-rows // TILE), -(-columns // TILE))
    if tiles[1] > _MOST_TILES:
        raise UnimplementedError(
            f"expected at most {_MOST_TILES * TILE} columns on a GPU, got {columns}"
        )
    splits = _splits(run, tiles[0] * tiles[1], depth) if may_split else 1
    out = run.gpu.empty((splits, rows, columns), dtype)
    shape = struct.pack("<4q", rows, columns, depth, splits)
    run.gpu.launch(module, function, (*tiles, splits), out, *factors, shape, *ends)
    if splits == 1:
        return out
    return reduce_middle(run, "Sum", out.reshaped((1, splits, rows * columns)))


def _splits(run: Run, tiles: int, depth: int) -> int:
    wanted = -(-2 * run.gpu.driver.processors // max(tiles, 1))
    return max(min(depth // _GRAIN, wanted, 64), 1)


def epilogue(bias: DeviceArray | None = None, activation: str = "") -> bytes:
    """The struct Epilogue."""
    address = 0 if bias is None else bias.block.address
    return struct.pack("<Qq", address, activation == "Relu")


def _matrix(x: DeviceArray, transposed: bool) -> bytes:
    """The struct Matrix."""
    rows, columns = (1, x.shape[1]) if transposed else (x.shape[1], 1)
    return struct.pack("<Qqq", x.block.address, rows, columns)
