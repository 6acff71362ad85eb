"""LeNet trained on the emulated GPU has the losses it has on the CPU."""

from collections.abc import Callable

import numpy as np
import pytest

import qanat as qn
from qanat import kernels_cuda
from qanat.kernels_cuda import cublas, cudnn_graphs
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.emulator.fake_cublas import FakeCublas
from qanat.kernels_cuda.emulator.fake_cudnn import FakeCudnn
from qanat.models.lenet import lenet
from qanat.training import AdamOptimizer, GradientDescentOptimizer, Optimizer

STEPS = 3
BATCH = 2


def losses(make: Callable[[], Optimizer], config: qn.SessionConfig) -> list[float]:
    """Of a few steps of training from the same weights, and of one step more on the last."""
    generator = np.random.default_rng(0)
    images = generator.uniform(size=(BATCH, 28, 28, 1)).astype(np.float32)
    labels = generator.integers(0, 10, BATCH).astype(np.int32)
    with qn.Graph().as_default() as graph:
        qn.set_random_seed(1)
        fed_images = qn.placeholder(qn.float32, [None, 28, 28, 1])
        fed_labels = qn.placeholder(qn.int32, [None])
        loss = qn.losses.sparse_softmax_cross_entropy(fed_labels, lenet(fed_images, 10))
        train = make().minimize(loss)
        start = qn.global_variables_initializer()
    feeds = {fed_images: images, fed_labels: labels}
    with qn.Session(graph=graph, config=config) as session:
        session.run(start)
        return [session.run([loss, train], feeds)[0] for _ in range(STEPS)]


@pytest.mark.parametrize("optimise", [True, False])
@pytest.mark.parametrize(
    "make",
    [lambda: GradientDescentOptimizer(0.1), lambda: AdamOptimizer(0.001)],
    ids=["sgd", "adam"],
)
def test_losses(make: Callable[[], Optimizer], optimise: bool) -> None:
    config = qn.SessionConfig(optimise=optimise)
    expected = losses(make, config)
    driver = EmulatedDriver()
    with kernels_cuda.DEVICES.using(driver):
        got = losses(make, config)
    driver.check_memory()
    np.testing.assert_allclose(got, expected, atol=1e-4)
    assert expected[-1] < expected[0]
    # One stream up and one down: a step waits for the device once.
    assert driver.calls["download"] == STEPS
    assert driver.launched["conv2d_filter_float32"] == 2 * STEPS


@pytest.mark.parametrize("optimise", [True, False])
def test_losses_with_cublas_and_cudnn(optimise: bool) -> None:
    config = qn.SessionConfig(optimise=optimise)
    expected = losses(lambda: GradientDescentOptimizer(0.1), config)
    made: list[FakeCudnn] = []

    def cudnn(driver: EmulatedDriver) -> FakeCudnn:
        made.append(FakeCudnn(driver))
        return made[0]

    driver = EmulatedDriver(libraries={cublas.MODULE: FakeCublas, cudnn_graphs.MODULE: cudnn})
    with kernels_cuda.DEVICES.using(driver):
        got = losses(lambda: GradientDescentOptimizer(0.1), config)
    driver.check_memory()
    np.testing.assert_allclose(got, expected, atol=1e-4)
    # Two convolutions, the first of which needs no gradient for the images: built once, run in each
    # step. None of our own kernels for the same is launched, but for what ends a fused product.
    counts = {"conv_fprop": 2, "conv_wgrad": 2, "conv_dgrad": 1}
    assert made[0].built == counts
    assert made[0].executed == {node: count * STEPS for node, count in counts.items()}
    assert not any(name.startswith(("conv2d_", "matmul_")) for name in driver.launched)
    assert driver.launched["finish_float32"] == (4 * STEPS if optimise else 0)
