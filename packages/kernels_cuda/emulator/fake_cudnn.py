"""cuDNN's graphs of one convolution as their documentation has them, by NumPy: what stands for the
module `cudnn` of nvidia-cudnn-frontend.

Sizes are in the order batch, channels, rows, columns (of filters: out channels, channels, rows,
columns); where elements lie is what the strides say. A graph has three plans, of which the first
two are what must be deselected: they give NaN.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any, Final

import numpy as np

from qanat.kernels_cuda.emulator.driver import EmulatedDriver

Array = np.ndarray[Any, Any]
Pair = Sequence[int]


class data_type(IntEnum):  # noqa: N801 (the binding's name)
    FLOAT = 1
    DOUBLE = 2


class numerical_note(IntEnum):  # noqa: N801
    TENSOR_CORE = 0
    DOWN_CONVERT_INPUTS = 1
    REDUCED_PRECISION_REDUCTION = 2
    NONDETERMINISTIC = 5


class heur_mode(IntEnum):  # noqa: N801
    A = 0
    FALLBACK = 2


class cudnnGraphNotSupportedError(Exception):  # noqa: N801, N818
    """cuDNN has no engine for a graph."""


_TYPES: Final = {data_type.FLOAT: np.float32, data_type.DOUBLE: np.float64}
_NOTES: Final = (
    {numerical_note.NONDETERMINISTIC},
    {numerical_note.TENSOR_CORE, numerical_note.DOWN_CONVERT_INPUTS},
    set[numerical_note](),
)


class FakeCudnn:
    """The part of the module that convolutions use, with its parameters' names.

    Attributes:
        built: how many graphs were, by node.
        executed: how many were run, by node.
        refuses: nodes that there is no engine for.
        fails: nodes whose graphs fail when they are run.
        unbuilt: nodes whose plans fail when they are built, as where memory lacks.
        workspace: bytes that each graph asks for.
    """

    data_type = data_type
    numerical_note = numerical_note
    heur_mode = heur_mode
    cudnnGraphNotSupportedError = cudnnGraphNotSupportedError  # noqa: N815

    def __init__(
        self,
        driver: EmulatedDriver,
        refuses: Collection[str] = (),
        fails: Collection[str] = (),
        unbuilt: Collection[str] = (),
        workspace: int = 1000,
    ) -> None:
        self.built: Counter[str] = Counter()
        self.executed: Counter[str] = Counter()
        self.refuses = refuses
        self.fails = fails
        self.unbuilt = unbuilt
        self.workspace = workspace
        self.driver = driver
        self.streams: dict[int, int] = {}
        self.pygraph = partial(_Graph, self)

    def create_handle(self) -> int:
        handle = len(self.streams) + 1
        self.streams[handle] = 0
        return handle

    def set_stream(self, handle: int, stream: int) -> None:
        self.streams[handle] = stream


@dataclass
class _Tensor:
    """Numbers and layout of a tensor; what is set gives the tensor, so that calls can be chained.
    """

    dim: list[int] = field(default_factory=list)
    stride: list[int] = field(default_factory=list)
    data_type: int = 0
    uid: int = -1
    is_output: bool = False

    def set_uid(self, uid: int) -> "_Tensor":
        self.uid = uid
        return self

    def set_output(self, is_output: bool) -> "_Tensor":
        self.is_output = is_output
        return self

    def set_data_type(self, data_type: int) -> "_Tensor":
        self.data_type = data_type
        return self

    def set_dim(self, dim: list[int]) -> "_Tensor":
        self.dim = dim
        return self

    def set_stride(self, stride: list[int]) -> "_Tensor":
        self.stride = stride
        return self


@dataclass(frozen=True)
class _Node:
    """A convolution: images x, a filter w and outputs y, one of which it makes."""

    kind: str
    x: _Tensor
    w: _Tensor
    y: _Tensor
    before: Pair
    after: Pair
    stride: Pair
    dilation: Pair

    def check(self) -> None:
        """The sizes fit one another, by the formula of cuDNN's documentation."""
        sizes = zip(self.x.dim[2:], self.w.dim[2:], self.before, self.after, self.stride,
                    self.dilation, strict=True)  # fmt: skip
        spatial = [
            (size + before + after - ((extent - 1) * dilation + 1)) // stride + 1
            for size, extent, before, after, stride, dilation in sizes
        ]
        expected = [self.x.dim[0], self.w.dim[0], *spatial]
        assert self.y.dim == expected, f"cuDNN makes {expected} of it, not {self.y.dim}"
        assert self.x.dim[1] == self.w.dim[1], "images and filter have other channels"

    def run(self, x: Array, w: Array, y: Array) -> None:
        """Fills the one that the node makes; all are views by the strides."""
        pads = [(0, 0), (0, 0), *zip(self.before, self.after, strict=True)]
        images = np.pad(np.zeros_like(x) if self.kind == "conv_dgrad" else x, pads)
        made = np.zeros(w.shape if self.kind == "conv_wgrad" else y.shape)
        for i, j in np.ndindex(*w.shape[2:]):
            rows, columns = (
                slice(start, start + (count - 1) * stride + 1, stride)
                for start, count, stride in zip(
                    (i * self.dilation[0], j * self.dilation[1]),
                    y.shape[2:], self.stride, strict=True,
                )
            )  # fmt: skip
            met = images[:, :, rows, columns]
            if self.kind == "conv_fprop":
                made += np.einsum("ncpq,kc->nkpq", met, w[:, :, i, j])
            elif self.kind == "conv_dgrad":
                met += np.einsum("nkpq,kc->ncpq", y, w[:, :, i, j])
            else:
                made[:, :, i, j] = np.einsum("ncpq,nkpq->kc", met, y)
        if self.kind == "conv_dgrad":
            (top, left), (height, width) = self.before, x.shape[2:]
            x[...] = images[:, :, top : top + height, left : left + width]
        else:
            (y if self.kind == "conv_fprop" else w)[...] = made


class _Graph:
    """`cudnn.pygraph`, of one node."""

    def __init__(
        self,
        cudnn: FakeCudnn,
        *,
        io_data_type: int,
        intermediate_data_type: int,
        compute_data_type: int,
        handle: int,
    ) -> None:
        assert io_data_type == intermediate_data_type == compute_data_type
        self._cudnn = cudnn
        self._handle = handle
        self._type = _TYPES[data_type(compute_data_type)]
        self._node: Any = None
        self._plans: list[set[numerical_note]] = []
        self._steps: list[str] = []

    def tensor(self, dim: list[int], stride: list[int], data_type: int, uid: int) -> _Tensor:
        return _Tensor(dim, stride, data_type, uid)

    def conv_fprop(
        self, image: _Tensor, weight: _Tensor, pre_padding: Pair, post_padding: Pair,
        stride: Pair, dilation: Pair,
    ) -> _Tensor:  # fmt: skip
        made = _Tensor()
        self._node = _Node("conv_fprop", image, weight, made, pre_padding, post_padding, stride,
                           dilation)  # fmt: skip
        return made

    def conv_dgrad(
        self, loss: _Tensor, filter: _Tensor, pre_padding: Pair, post_padding: Pair,
        stride: Pair, dilation: Pair,
    ) -> _Tensor:  # fmt: skip
        made = _Tensor()
        self._node = _Node("conv_dgrad", made, filter, loss, pre_padding, post_padding, stride,
                           dilation)  # fmt: skip
        return made

    def conv_wgrad(
        self, image: _Tensor, loss: _Tensor, pre_padding: Pair, post_padding: Pair,
        stride: Pair, dilation: Pair,
    ) -> _Tensor:  # fmt: skip
        made = _Tensor()
        self._node = _Node("conv_wgrad", image, made, loss, pre_padding, post_padding, stride,
                           dilation)  # fmt: skip
        return made

    def validate(self) -> None:
        node = self._node
        node.check()
        for tensor in (node.x, node.w, node.y):
            assert min(tensor.dim) > 0 and len(tensor.stride) == 4
        made = {"conv_fprop": node.y, "conv_dgrad": node.x, "conv_wgrad": node.w}[node.kind]
        assert made.is_output, "what is made would be no memory of ours"
        self._follows([])

    def build_operation_graph(self) -> None:
        self._follows(["validate"])

    def create_execution_plans(self, modes: Sequence[heur_mode]) -> None:
        self._follows(["validate", "build_operation_graph"])
        self._plans = [*_NOTES]

    def deselect_numeric_notes(self, notes: Sequence[numerical_note]) -> None:
        self._plans = [plan for plan in self._plans if not plan & set(notes)]

    def deselect_workspace_greater_than(self, workspace: int) -> None:
        if workspace < self._cudnn.workspace:
            self._plans = []

    def check_support(self) -> None:
        if self._node.kind in self._cudnn.refuses or not self._plans:
            raise cudnnGraphNotSupportedError("No execution plans support the graph.")

    def build_plans(self) -> None:
        if self._node.kind in self._cudnn.unbuilt:
            raise RuntimeError("CUDNN_STATUS_ALLOC_FAILED")
        self._cudnn.built[self._node.kind] += 1

    def get_workspace_size(self) -> int:
        return self._cudnn.workspace

    def execute(
        self, tensor_to_device_buffer: Mapping[int, int], workspace: int, handle: int
    ) -> None:
        node, driver = self._node, self._cudnn.driver
        if node.kind in self._cudnn.fails:
            raise RuntimeError("CUDNN_STATUS_EXECUTION_FAILED")
        self._cudnn.executed[node.kind] += 1
        views = [
            self._view(tensor, tensor_to_device_buffer[tensor.uid])
            for tensor in (node.x, node.w, node.y)
        ]
        scratch = driver.memory_at(workspace, self._cudnn.workspace, np.uint8)
        is_wanted = not self._plans[0]

        def work() -> None:
            scratch[:] = 0xAB
            node.run(*views)
            if not is_wanted:
                for view in views:
                    view[...] = np.nan

        driver.give(self._cudnn.streams[handle], work)

    def _view(self, tensor: _Tensor, address: int) -> Array:
        span = 1 + sum((n - 1) * step for n, step in zip(tensor.dim, tensor.stride, strict=True))
        memory = self._cudnn.driver.memory_at(address, span, self._type)
        strides = [step * memory.itemsize for step in tensor.stride]
        return np.lib.stride_tricks.as_strided(memory, tensor.dim, strides)

    def _follows(self, steps: list[str]) -> None:
        """cuDNN is asked for one thing after the other."""
        assert self._steps == steps, f"expected {steps} to be done, got {self._steps}"
        self._steps = [*steps, ["validate", "build_operation_graph", "plans"][len(steps)]]
