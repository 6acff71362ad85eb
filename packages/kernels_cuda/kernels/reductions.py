"""Sums, means, maxima and minima: one pass for each run of neighbouring axes."""

import struct
from collections.abc import Sequence
from itertools import groupby
from math import inf, prod

from qanat.kernels_cuda.device import BLOCK, DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Host, Run, cuda_kernel

_START = {"Sum": 0.0, "Max": -inf, "Min": inf}
# What one thread reduces at least, before a row is shared among more.
_GRAIN = 32
_MOST_SPLITS = 1024
# What a grid's second and third dimension are limited to.
_MOST_BLOCKS = 65535


@cuda_kernel("Sum", T=FLOATS)
@cuda_kernel("Max", T=FLOATS)
@cuda_kernel("Min", T=FLOATS)
def _(run: Run, x: DeviceArray, axes: Host) -> DeviceArray:
    return _reduced(run, run.node.op, x, axes.reshape(-1).tolist(), 1.0)


@cuda_kernel("Mean", T=FLOATS)
def _(run: Run, x: DeviceArray, axes: Host) -> DeviceArray:
    gone = axes.reshape(-1).tolist()
    count = prod(x.shape[axis] for axis in gone)
    return _reduced(run, "Sum", x, gone, 1.0 / count if count else float("nan"))


@cuda_kernel("BiasAddGrad", T=FLOATS)
def _(run: Run, grad: DeviceArray) -> DeviceArray:
    return _reduced(run, "Sum", grad, list(range(len(grad.shape) - 1)), 1.0)


def _reduced(run: Run, op: str, x: DeviceArray, axes: Sequence[int], scale: float) -> DeviceArray:
    rank = len(x.shape)
    gone = {axis % rank for axis in axes}
    shape = tuple(1 if i in gone else size for i, size in enumerate(x.shape))
    runs = [list(group) for is_gone, group in groupby(range(rank), gone.__contains__) if is_gone]
    total = x
    for number, run_of_axes in enumerate(reversed(runs)):
        first, last = run_of_axes[0], run_of_axes[-1]
        dims = total.shape
        total = reduce_middle(
            run,
            op,
            total.reshaped(
                (prod(dims[:first]), prod(dims[first : last + 1]), prod(dims[last + 1 :]))
            ),
            scale if number == len(runs) - 1 else 1.0,
        ).reshaped([1 if first <= i <= last else size for i, size in enumerate(dims)])
    return total.reshaped(run.shapes[0] if run.shapes else shape)


def reduce_middle(run: Run, op: str, x: DeviceArray, scale: float = 1.0) -> DeviceArray:
    """[outer, length, inner] reduced to [outer, inner], and multiplied by a scale."""
    outer, length, inner = x.shape
    splits = _splits(run, outer, length, inner)
    if splits > 1:
        x = _launch(run, op, x, splits, 1.0)
    return _launch(run, op, x, 1, scale).reshaped((outer, inner))


def _splits(run: Run, outer: int, length: int, inner: int) -> int:
    """In how many pieces the middle is reduced at first, so that the whole device has work."""
    share = _GRAIN * (BLOCK if inner == 1 else 1)
    blocks = max(outer * (1 if inner == 1 else -(-inner // BLOCK)), 1)
    wanted = -(-4 * run.gpu.driver.processors // blocks)
    return max(min(length // share, wanted, _MOST_SPLITS), 1)


def _launch(run: Run, op: str, x: DeviceArray, splits: int, scale: float) -> DeviceArray:
    outer, length, inner = x.shape
    out = run.gpu.empty((outer, splits, inner), x.dtype)
    rows = min(outer, _MOST_BLOCKS)
    grid = (splits, rows) if inner == 1 else (-(-inner // BLOCK), splits, rows)
    shape = struct.pack("<4q", outer, length, inner, splits)
    function = f"{op}_{'rows' if inner == 1 else 'columns'}_{x.dtype.name}"
    run.gpu.launch("reductions", function, grid, out, x, shape, _START[op], scale)
    return out
