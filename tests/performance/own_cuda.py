"""Qanat's ways to do the work on a GPU, or on a driver that counts calls and does nothing."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np

from tests.performance import own
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    """As `own.lenet`, on the first GPU."""
    import qanat as qn

    _require_gpu()
    with qn.device("/device:GPU:0"):
        return own.lenet(size)


def chain(length: int) -> Work:
    """Additions on the first GPU, a launch each."""
    _require_gpu()
    return partial(_chain(length), 1.0)


def chain_by_segment(length: int) -> Work:
    """What the host does for a chain of launches: Python runs the chain, as steps do."""
    from qanat import kernels_cuda
    from qanat.kernels_cuda.emulator.counting_driver import CountingDriver

    with kernels_cuda.DEVICES.using(CountingDriver()):
        return partial(_chain(length), 1.0)


def chain_by_node(length: int) -> Work:
    """The same launches, where the executor calls Python for each node: values on the device go
    between the calls as numbers that stand for them."""
    import qanat as qn

    _define_launch()
    fed = x = qn.placeholder(qn.int64, [])
    for _ in range(length):
        x = _builders["BenchLaunch"](x)
    return partial(_session().prepare(x, [fed]), np.int64(0))


def _chain(length: int) -> Any:
    import qanat as qn

    with qn.device("/device:GPU:0"):
        fed = x = qn.placeholder(qn.float32, [])
        for _ in range(length):
            x = qn.add(x, fed)
    run = _session().prepare(x, [fed])
    run(1.0)
    return run


_builders: dict[str, Any] = {}


def _define_launch() -> None:
    """An op whose kernel does for one addition what a segment does."""
    import qanat as qn
    from qanat.core.base_ops import constant
    from qanat.core.op_def import In, Shapes, op
    from qanat.core.passes.step_graph import Node
    from qanat.core.python_kernel import python_kernel
    from qanat.kernels_cuda.device import DeviceArray, Gpu
    from qanat.kernels_cuda.emulator.counting_driver import CountingDriver
    from qanat.kernels_cuda.kernel import Run, kernel_of

    gpu = Gpu(CountingDriver())
    one = gpu.empty((), qn.float32)
    values: dict[int, DeviceArray] = {0: one}
    added = qn.add(constant(1.0), constant(1.0)).op
    node = Node("add", added.op_def, (), (), added._attrs, (qn.float32,), (added.outputs[0].shape,))
    kernel = kernel_of(node)
    shapes: Sequence[tuple[int, ...]] = [()]

    @op("BenchLaunch", outputs="y: int64", differentiable=False)
    def launch(x: Annotated[In, "int64"]) -> Shapes:
        return [x.shape]

    @python_kernel("BenchLaunch")
    def _(token: Any) -> Any:
        with gpu.driver.active():
            x = values[int(token)]
            values[0] = kernel.function(Run(gpu, node, shapes), x, one)
        return np.int64(0)

    _builders["BenchLaunch"] = launch


def _session() -> Any:
    import qanat as qn

    return qn.Session(config=qn.SessionConfig(optimise=False))


def _require_gpu() -> None:
    from qanat import kernels_cuda

    reason = kernels_cuda.DEVICES.absence()
    if reason is not None:
        sys.exit(reason)
