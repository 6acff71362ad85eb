"""Ops that move, fill, convert or only rename elements."""

from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.device_library import Array
from qanat.core.dtypes import DType
from qanat.core.errors import UnimplementedError
from qanat.kernels_cuda.device import DeviceArray, Dims
from qanat.kernels_cuda.kernel import FLOATS, Anywhere, Host, Run, cuda_kernel
from qanat.kernels_cuda.kernels.layouts import broadcast_strides, contiguous, walk

# What can be in the device's memory, whatever is computed with it.
HELD: Final = sorted(dtypes.ALL - {dtypes.string, dtypes.resource}, key=lambda dtype: dtype.number)
# What copying kernels exist for: elements of up to 8 bytes.
COPIED: Final = [dtype for dtype in HELD if dtype.size <= 8]
CAST: Final = (
    dtypes.bool_,
    dtypes.uint8,
    dtypes.int32,
    dtypes.int64,
    dtypes.float32,
    dtypes.float64,
)


@cuda_kernel("Const", dtype=HELD)
def _(run: Run, *, value: Array) -> Array:
    return value


@cuda_kernel("NoOp")
def _(run: Run) -> None:
    return None


@cuda_kernel("Identity", T=HELD)
@cuda_kernel("StopGradient", T=HELD)
@cuda_kernel("PreventGradient", T=HELD)
def _(run: Run, x: Anywhere) -> Any:
    return x


@cuda_kernel("Reshape", T=HELD)
@cuda_kernel("ExpandDims", T=HELD)
def _(run: Run, x: Anywhere, shape: Host) -> Any:
    return _reshaped(run, x)


@cuda_kernel("Squeeze", T=HELD)
def _(run: Run, x: Anywhere) -> Any:
    return _reshaped(run, x)


def _reshaped(run: Run, x: Any) -> Any:
    shape = run.shapes[0]
    if np.prod(shape) != x.size:
        raise ValueError(f"expected a shape of {x.size} elements, got {list(shape)}")
    return x.reshaped(shape) if isinstance(x, DeviceArray) else x.reshape(shape)


@cuda_kernel("Shape", T=HELD)
def _(run: Run, x: Anywhere, *, out_type: DType) -> Array:
    return np.array(x.shape, out_type.as_numpy)


@cuda_kernel("Size", T=HELD)
def _(run: Run, x: Anywhere, *, out_type: DType) -> Array:
    return np.array(x.size, out_type.as_numpy)


@cuda_kernel("Rank", T=HELD)
def _(run: Run, x: Anywhere) -> Array:
    return np.array(len(x.shape), np.int32)


def _gather(run: Run, x: DeviceArray, shape: Dims, strides: list[int]) -> DeviceArray:
    """x, read by these strides as an array of that shape."""
    out = run.gpu.empty(shape, x.dtype)
    run.each("arrays", f"gather_{x.dtype.size}", out.size, out, x, walk(shape, strides))
    return out


def broadcast(run: Run, x: DeviceArray, shape: Dims) -> DeviceArray:
    """x, repeated to a shape that it broadcasts to."""
    return x if x.shape == shape else _gather(run, x, shape, broadcast_strides(x.shape, shape))


@cuda_kernel("BroadcastTo", T=COPIED)
def _(run: Run, x: DeviceArray, shape: Host) -> DeviceArray:
    return broadcast(run, x, run.shapes[0])


@cuda_kernel("Transpose", T=COPIED)
def _(run: Run, x: DeviceArray, perm: Host) -> DeviceArray:
    strides = contiguous(x.shape)
    return _gather(run, x, run.shapes[0], [strides[axis] for axis in perm])


@cuda_kernel("Fill", T=COPIED)
def _(run: Run, dims: Host, value: DeviceArray) -> DeviceArray:
    return _filled(run, value)


def _filled(run: Run, value: DeviceArray) -> DeviceArray:
    out = run.output()
    run.each("arrays", f"fill_{out.dtype.size}", out.size, out, value, out.size)
    return out


@cuda_kernel("ZerosLike", T=COPIED)
def _(run: Run, x: Anywhere) -> DeviceArray:
    return _filled(run, run.gpu.upload(np.zeros((), run.node.dtypes[0].as_numpy)))


@cuda_kernel("OnesLike", T=COPIED)
def _(run: Run, x: Anywhere) -> DeviceArray:
    return _filled(run, run.gpu.upload(np.ones((), run.node.dtypes[0].as_numpy)))


@cuda_kernel("Cast", SrcT=CAST, DstT=FLOATS)
def _(run: Run, x: Anywhere, *, DstT: DType, Truncate: bool) -> Any:  # noqa: N803 (attrs' names)
    if Truncate:
        raise UnimplementedError("expected Truncate=False on a GPU")
    if not isinstance(x, DeviceArray):
        return x.astype(DstT.as_numpy)
    if x.dtype is DstT:
        return x
    out = run.output()
    run.each("arrays", f"cast_{x.dtype.name}_{DstT.name}", out.size, out, x, out.size)
    return out
