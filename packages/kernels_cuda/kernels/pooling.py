"""Maximum and average over windows, and their gradients."""

from collections.abc import Sequence

from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Anywhere, Host, Run, cuda_kernel
from qanat.kernels_cuda.kernels.windows import window_of

Sizes = Sequence[int]


@cuda_kernel("MaxPool", T=FLOATS)
def _(run: Run, x: DeviceArray, *, ksize: Sizes, strides: Sizes, padding: str) -> DeviceArray:
    return _pooled(run, "max_pool", x, ksize, strides, padding)


@cuda_kernel("AvgPool", T=FLOATS)
def _(run: Run, x: DeviceArray, *, ksize: Sizes, strides: Sizes, padding: str) -> DeviceArray:
    return _pooled(run, "avg_pool", x, ksize, strides, padding)


def _pooled(
    run: Run, function: str, x: DeviceArray, ksize: Sizes, strides: Sizes, padding: str
) -> DeviceArray:
    out = run.output()
    window = window_of(x.shape, ksize[1:3], out.shape, strides, padding).struct()
    run.each("pooling", f"{function}_{x.dtype.name}", out.size, out, x, window)
    return out


@cuda_kernel("MaxPoolGrad", T=FLOATS)
def _(
    run: Run,
    x: DeviceArray,
    y: Anywhere,
    grad: DeviceArray,
    *,
    ksize: Sizes,
    strides: Sizes,
    padding: str,
) -> DeviceArray:
    out = run.output()
    window = window_of(out.shape, ksize[1:3], grad.shape, strides, padding).struct()
    run.each("pooling", f"max_pool_grad_{x.dtype.name}", out.size, out, x, grad, window)
    return out


@cuda_kernel("AvgPoolGrad", T=FLOATS)
def _(
    run: Run, sizes: Host, grad: DeviceArray, *, ksize: Sizes, strides: Sizes, padding: str
) -> DeviceArray:
    out = run.output()
    window = window_of(out.shape, ksize[1:3], grad.shape, strides, padding).struct()
    run.each("pooling", f"avg_pool_grad_{grad.dtype.name}", out.size, out, grad, window)
    return out
