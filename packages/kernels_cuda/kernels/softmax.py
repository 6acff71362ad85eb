"""Softmax and cross-entropy."""

from math import prod

import numpy as np

from qanat.core.dtypes import int32, int64
from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Host, Run, cuda_kernel

_MOST_BLOCKS = 65535

Pair = tuple[DeviceArray, DeviceArray]


@cuda_kernel("Softmax", T=FLOATS)
@cuda_kernel("LogSoftmax", T=FLOATS)
def _(run: Run, logits: DeviceArray) -> DeviceArray:
    out = run.gpu.empty(logits.shape, logits.dtype)
    rows, classes = prod(logits.shape[:-1]), logits.shape[-1]
    if out.size:
        function = f"{run.node.op}_{logits.dtype.name}"
        run.gpu.launch("softmax", function, (min(rows, _MOST_BLOCKS),), out, logits, rows, classes)
    return out


@cuda_kernel("SoftmaxCrossEntropyWithLogits", T=FLOATS)
def _(run: Run, features: DeviceArray, labels: DeviceArray) -> Pair:
    return _launch(run, f"cross_entropy_{features.dtype.name}", features, labels)


@cuda_kernel("SparseSoftmaxCrossEntropyWithLogits", T=FLOATS, Tlabels=(int32, int64))
def _(run: Run, features: DeviceArray, labels: Host) -> Pair:
    classes = features.shape[1]
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        at = wrong[0]
        raise ValueError(f"expected labels in [0, {classes}), got {labels[at]} at position {at}")
    function = f"sparse_cross_entropy_{features.dtype.name}_{labels.dtype.name}"
    return _launch(run, function, features, run.gpu.upload(labels))


def _launch(run: Run, function: str, features: DeviceArray, labels: DeviceArray) -> Pair:
    rows, classes = features.shape
    loss = run.gpu.empty((rows,), features.dtype)
    backprop = run.gpu.empty(features.shape, features.dtype)
    blocks = (min(rows, _MOST_BLOCKS),)
    run.gpu.launch("softmax", function, blocks, loss, backprop, features, labels, rows, classes)
    return loss, backprop
