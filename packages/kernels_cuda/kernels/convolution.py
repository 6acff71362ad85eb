"""Convolutions and their gradients, as products of matrices."""

from collections.abc import Sequence
from math import prod

from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Host, Run, cuda_kernel
from qanat.kernels_cuda.kernels.products import epilogue, product
from qanat.kernels_cuda.kernels.windows import window_of


@cuda_kernel("Conv2D", T=FLOATS)
def _(
    run: Run,
    images: DeviceArray,
    filter: DeviceArray,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int],
    dilations: Sequence[int],
) -> DeviceArray:
    window = window_of(
        images.shape, filter.shape, run.shapes[0], strides, padding, explicit_paddings, dilations
    ).struct()
    return _convolved(run, images, filter, window, epilogue(), may_split=True)


@cuda_kernel("_FusedConv2D", T=FLOATS)
def _(
    run: Run,
    images: DeviceArray,
    filter: DeviceArray,
    bias: DeviceArray,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int],
    dilations: Sequence[int],
    activation: str,
) -> DeviceArray:
    window = window_of(
        images.shape, filter.shape, run.shapes[0], strides, padding, explicit_paddings, dilations
    ).struct()
    end = epilogue(bias, activation)
    return _convolved(run, images, filter, window, end, may_split=False)


def _convolved(
    run: Run, images: DeviceArray, filter: DeviceArray, window: bytes, end: bytes, may_split: bool
) -> DeviceArray:
    out = run.shapes[0]
    return product(
        run,
        "convolution",
        f"conv2d_{images.dtype.name}",
        (prod(out[:3]), out[3], prod(filter.shape[:3])),
        images.dtype,
        (images, filter, window),
        (end,),
        may_split,
    ).reshaped(out)


@cuda_kernel("Conv2DBackpropFilter", T=FLOATS)
def _(
    run: Run,
    images: DeviceArray,
    filter_sizes: Host,
    grads: DeviceArray,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int],
    dilations: Sequence[int],
) -> DeviceArray:
    out = run.shapes[0]
    window = window_of(
        images.shape, out, grads.shape, strides, padding, explicit_paddings, dilations
    ).struct()
    return product(
        run,
        "convolution",
        f"conv2d_filter_{images.dtype.name}",
        (prod(out[:3]), out[3], prod(grads.shape[:3])),
        images.dtype,
        (images, grads, window),
    ).reshaped(out)


@cuda_kernel("Conv2DBackpropInput", T=FLOATS)
def _(
    run: Run,
    input_sizes: Host,
    filter: DeviceArray,
    grads: DeviceArray,
    *,
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int],
    dilations: Sequence[int],
) -> DeviceArray:
    out = run.shapes[0]
    window = window_of(
        out, filter.shape, grads.shape, strides, padding, explicit_paddings, dilations
    ).struct()
    return product(
        run,
        "convolution",
        f"conv2d_input_{filter.dtype.name}",
        (prod(out[:3]), out[3], filter.shape[0] * filter.shape[1] * grads.shape[3]),
        grads.dtype,
        (grads, filter, window),
    ).reshaped(out)
