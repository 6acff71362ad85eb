"""Convolutions and their gradients: by cuDNN where it is there and takes them, else as products of
matrices."""

from collections.abc import Sequence
from math import prod

from qanat.core.dtypes import DType
from qanat.kernels_cuda.cudnn_graphs import Graph, Node
from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Host, Run, cuda_kernel
from qanat.kernels_cuda.kernels.products import epilogue, finished, product
from qanat.kernels_cuda.kernels.windows import Window, window_of


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
    )
    return _convolved(run, images, filter, window)


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
    )
    return _convolved(run, images, filter, window, bias, activation)


def _convolved(
    run: Run,
    images: DeviceArray,
    filter: DeviceArray,
    window: Window,
    bias: DeviceArray | None = None,
    activation: str = "",
) -> DeviceArray:
    graph = _graph(run, "conv_fprop", images.dtype, window)
    if graph is not None:
        made = run.output()
        if graph(images, filter, made):
            return made if bias is None else finished(run, made, bias, activation)
    out = run.shapes[0]
    return product(
        run,
        "convolution",
        f"conv2d_{images.dtype.name}",
        (prod(out[:3]), out[3], prod(filter.shape[:3])),
        images.dtype,
        (images, filter, window.struct()),
        (epilogue(bias, activation),),
        may_split=bias is None,
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
    )
    graph = _graph(run, "conv_wgrad", images.dtype, window)
    if graph is not None:
        made = run.output()
        if graph(images, made, grads):
            return made
    return product(
        run,
        "convolution",
        f"conv2d_filter_{images.dtype.name}",
        (prod(out[:3]), out[3], prod(grads.shape[:3])),
        images.dtype,
        (images, grads, window.struct()),
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
    )
    graph = _graph(run, "conv_dgrad", grads.dtype, window)
    if graph is not None:
        made = run.output()
        if graph(made, filter, grads):
            return made
    return product(
        run,
        "convolution",
        f"conv2d_input_{filter.dtype.name}",
        (prod(out[:3]), out[3], filter.shape[0] * filter.shape[1] * grads.shape[3]),
        grads.dtype,
        (grads, filter, window.struct()),
    ).reshaped(out)


def _graph(run: Run, node: Node, dtype: DType, window: Window) -> Graph | None:
    """cuDNN's for a convolution, if it is there and has one."""
    cudnn = run.gpu.cudnn
    return None if cudnn is None else cudnn.graph(node, dtype, window)
