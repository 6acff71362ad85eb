"""Graphs are built once, fill what they make, and what cuDNN refuses is not done by it."""

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.kernels_cuda import cudnn_graphs
from qanat.kernels_cuda.cudnn_graphs import Graph, Node
from qanat.kernels_cuda.device import Gpu
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.emulator.fake_cudnn import FakeCudnn, _Graph
from qanat.kernels_cuda.kernels.windows import Window, window_of

NODES: tuple[Node, ...] = ("conv_fprop", "conv_dgrad", "conv_wgrad")


class Library:
    """A GPU with cuDNN, and the cuDNN."""

    def __init__(self, **how: Any) -> None:
        self.driver = EmulatedDriver(libraries={cudnn_graphs.MODULE: self._make})
        self._how = how
        self.gpu = Gpu(self.driver)

    def _make(self, driver: EmulatedDriver) -> FakeCudnn:
        self.fake = FakeCudnn(driver, **self._how)
        return self.fake

    def graph(self, node: Node, window: Window) -> Graph | None:
        assert self.gpu.cudnn is not None
        return self.gpu.cudnn.graph(node, dtypes.float32, window)


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library()
    with made.driver.active():
        yield made
    made.driver.check_memory()


def window(batch: int = 2, stride: int = 1) -> Window:
    """A filter of 3 x 2 over images of 5 x 4 with 2 channels, 3 for the outputs."""
    rows, columns = -(-5 // stride), -(-4 // stride)
    return window_of(
        (batch, 5, 4, 2), (3, 2), (batch, rows, columns, 3), (1, stride, stride, 1), "SAME"
    )


def test_padding_is_what_the_outputs_reach() -> None:
    assert (window().before, window().after) == ((1, 0), (1, 1))
    explicit = window_of((1, 4, 4, 1), (3, 3), (1, 3, 3, 1), (1, 2, 2, 1), "EXPLICIT",
                         [0, 0, 2, 0, 1, 3, 0, 0])  # fmt: skip
    # Of the three columns after the last the windows reach two.
    assert (explicit.before, explicit.after) == ((2, 1), (1, 2))


@pytest.mark.parametrize("node", NODES)
def test_a_graph_is_built_once(node: Node, library: Library) -> None:
    first = library.graph(node, window())
    assert first is not None and library.graph(node, window()) is first
    assert library.fake.built == {node: 1}
    assert library.graph(node, window(stride=2)) is not first
    assert library.fake.built == {node: 2}


@pytest.mark.parametrize("workspace", [1000, 0])
def test_a_convolution(workspace: int) -> None:
    library = Library(workspace=workspace)
    images, filter = np.ones((2, 5, 4, 2), np.float32), np.ones((3, 2, 2, 3), np.float32)
    with library.driver.active():
        graph = library.graph("conv_fprop", window())
        outputs = library.gpu.empty((2, 5, 4, 3), dtypes.float32)
        assert graph is not None
        assert graph(library.gpu.upload(images), library.gpu.upload(filter), outputs)
        (made,) = library.gpu.download([outputs])
    np.testing.assert_array_equal(made[0, :, :, 0], [[8, 8, 8, 4], *[[12, 12, 12, 6]] * 3,
                                                     [8, 8, 8, 4]])  # fmt: skip
    library.driver.check_memory()


@pytest.mark.parametrize("node", NODES)
def test_nothing_to_convolve(node: Node, library: Library) -> None:
    assert library.graph(node, window(batch=0)) is None
    assert not library.fake.built


def test_what_cudnn_refuses(caplog: pytest.LogCaptureFixture) -> None:
    """It is remembered, and one line of the log."""
    library = Library(refuses=["conv_dgrad"])
    caplog.set_level(logging.INFO)
    with library.driver.active():
        caplog.clear()
        assert library.graph("conv_dgrad", window()) is None
        library.fake.refuses = ()
        assert library.graph("conv_dgrad", window()) is None
        assert library.graph("conv_fprop", window()) is not None
    (message,) = caplog.messages
    assert message.startswith("cudnn has no conv_dgrad of Window(images=(2, 5, 4, 2),")
    assert message.endswith(": No execution plans support the graph.")


def test_what_cudnn_finds_wrong_is_remembered(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(graph: _Graph) -> None:
        raise ValueError("strides not set")

    with monkeypatch.context() as patch:
        patch.setattr(_Graph, "validate", wrong)
        assert library.graph("conv_fprop", window()) is None
    assert library.graph("conv_fprop", window()) is None


def test_what_fails_to_be_built_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    library = Library(unbuilt=["conv_fprop"])
    caplog.set_level(logging.DEBUG)
    with library.driver.active():
        assert library.graph("conv_fprop", window()) is None
        assert caplog.messages[-1].startswith("cudnn failed to build conv_fprop of Window(")
        assert caplog.messages[-1].endswith(": CUDNN_STATUS_ALLOC_FAILED")
        library.fake.unbuilt = ()
        assert library.graph("conv_fprop", window()) is not None


def test_what_cudnn_fails_at_or_has_no_memory_for() -> None:
    for library in (Library(fails=["conv_fprop"]), Library()):
        with library.driver.active():
            graph = library.graph("conv_fprop", window())
            shapes = ((2, 5, 4, 2), (3, 2, 2, 3), (2, 5, 4, 3))
            arrays = [library.gpu.empty(shape, dtypes.float32) for shape in shapes]
            library.driver._memory = 0
            assert graph is not None and not graph(*arrays)
