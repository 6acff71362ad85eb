"""Pointwise ops: whatever the tables of `cu/pointwise.cuh` have."""

from typing import Any

from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Run, cuda_kernel
from qanat.kernels_cuda.kernels.arrays import broadcast
from qanat.kernels_cuda.kernels.layouts import broadcast_walk
from qanat.kernels_cuda.sources import pointwise_ops


def _unary(run: Run, x: DeviceArray) -> DeviceArray:
    return apply(run, run.node.op, x)


def apply(run: Run, op: str, x: DeviceArray) -> DeviceArray:
    """A function of one argument."""
    out = run.gpu.empty(x.shape, x.dtype)
    run.each("pointwise", f"{op}_{x.dtype.name}", x.size, out, x, x.size)
    return out


def combine(run: Run, op: str, x: DeviceArray, y: DeviceArray, out: DeviceArray) -> DeviceArray:
    """Fills `out` with a function of two arguments, broadcast to its shape."""
    shape = broadcast_walk(out.shape, x.shape, y.shape)
    run.each("pointwise", f"{op}_{x.dtype.name}", out.size, out, x, y, shape)
    return out


def _binary(run: Run, x: DeviceArray, y: DeviceArray) -> DeviceArray:
    return combine(run, run.node.op, x, y, run.output())


def _register() -> None:
    tables = pointwise_ops()
    for op in tables["UNARY"]:
        cuda_kernel(op, T=FLOATS)(_unary)
    for op in (*tables["BINARY"], *tables["COMPARISON"]):
        cuda_kernel(op, T=FLOATS)(_binary)


_register()


@cuda_kernel("AddN", T=FLOATS)
def _(run: Run, *terms: DeviceArray) -> DeviceArray:
    total, *others = terms
    for term in others:
        total = combine(run, "Add", total, term, run.gpu.empty(term.shape, term.dtype))
    return total


@cuda_kernel("Select", T=FLOATS)
def _(run: Run, condition: DeviceArray, x: DeviceArray, y: DeviceArray) -> DeviceArray:
    out = run.output()
    if condition.shape != x.shape:
        condition = broadcast(run, condition.reshaped(_rows(condition, x)), x.shape)
    run.each("pointwise", f"Select_{x.dtype.name}", out.size, out, condition, x, y, out.size)
    return out


def _rows(condition: DeviceArray, x: DeviceArray) -> tuple[int, ...]:
    """A scalar or vector of conditions is one for each of the first dimension."""
    return (*condition.shape, *[1] * (len(x.shape) - len(condition.shape)))


@cuda_kernel("BiasAdd", T=FLOATS)
def _(run: Run, value: DeviceArray, bias: DeviceArray, *, data_format: Any) -> DeviceArray:
    return combine(run, "Add", value, bias, run.output())
