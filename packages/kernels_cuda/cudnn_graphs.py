"""Convolutions by cuDNN, through NVIDIA's own binding of its graphs (nvidia-cudnn-frontend)."""

import logging
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from qanat.core.dtypes import DType
from qanat.core.errors import ResourceExhaustedError
from qanat.kernels_cuda.driver import Driver
from qanat.kernels_cuda.kernels.windows import Window
from qanat.kernels_cuda.libraries import first_line
from qanat.kernels_cuda.memory_pool import MemoryPool

if TYPE_CHECKING:
    from qanat.kernels_cuda.device import DeviceArray

MODULE: Final = "cudnn"

Node = Literal["conv_fprop", "conv_dgrad", "conv_wgrad"]

# The tensors of a convolution, by the numbers that graphs know them by.
_IMAGES, _FILTER, _OUTPUTS = 1, 2, 3
# By node: the tensors it takes, as its parameters are called, and the one it makes.
_ROLES: Final[dict[Node, tuple[dict[str, int], int]]] = {
    "conv_fprop": ({"image": _IMAGES, "weight": _FILTER}, _OUTPUTS),
    "conv_dgrad": ({"loss": _OUTPUTS, "filter": _FILTER}, _IMAGES),
    "conv_wgrad": ({"image": _IMAGES, "loss": _OUTPUTS}, _FILTER),
}
_TYPES: Final = {"float32": "FLOAT", "float64": "DOUBLE"}
# Of what an engine of cuDNN's may do: what would change the bits from run to run, or compute
# float32 with fewer (TF32 runs on tensor cores and rounds the inputs).
_UNWANTED: Final = (
    "NONDETERMINISTIC",
    "DOWN_CONVERT_INPUTS",
    "TENSOR_CORE",
    "REDUCED_PRECISION_REDUCTION",
)
_Layout = tuple[list[int], list[int]]  # sizes and strides
_MOST_WORKSPACE: Final = 1 << 30
_MOST_GRAPHS: Final = 1024

_log: Final = logging.getLogger("qanat.kernels_cuda")


class Graph:
    """A convolution that cuDNN is ready to compute."""

    def __init__(self, run: Callable[[dict[int, int]], bool]) -> None:
        self._run = run

    def __call__(
        self, images: "DeviceArray", filter: "DeviceArray", outputs: "DeviceArray"
    ) -> bool:
        """Fills one of the arrays with what the node makes of the others; False if cuDNN fails to.
        """
        arrays = {_IMAGES: images, _FILTER: filter, _OUTPUTS: outputs}
        return self._run({uid: array.block.address for uid, array in arrays.items()})


class Cudnn:
    """cuDNN on one stream of a GPU.

    All engines that its graphs may choose from compute float32 as float32, and give the same bits
    in every run.
    """

    def __init__(self, driver: Driver, stream: Any, pool: MemoryPool) -> None:
        """
        Raises:
            Exception: of whatever class: the binding or the library cannot be used.
        """
        self._binding = binding = driver.library(MODULE)
        self._pool = pool
        self._lock = threading.Lock()  # a handle is for one thread at a time
        self._handle = binding.create_handle()
        binding.set_stream(handle=self._handle, stream=driver.address(stream))
        # What the binding raises where cuDNN has nothing for a graph, now or ever; where something
        # failed, such as memory that lacked, it is a RuntimeError.
        self._refusals = (binding.cudnnGraphNotSupportedError, ValueError)
        self._built = lru_cache(_MOST_GRAPHS)(self._build)

    def graph(self, node: Node, dtype: DType, window: Window) -> "Graph | None":
        """What computes a convolution: made once, and the same from then on. None where cuDNN has
        nothing for it, which is remembered, too, or fails to make it, which is not."""
        with self._lock:
            try:
                return self._built(node, dtype.name, window)
            except RuntimeError as error:
                _log.debug("cudnn failed to build %s of %s: %s", node, window, first_line(error))
                return None

    def _build(self, node: Node, dtype: str, window: Window) -> "Graph | None":
        """
        Raises:
            RuntimeError: cuDNN failed, which may pass.
        """
        if 0 in (*window.images, *window.outputs):
            return None
        binding = self._binding
        try:
            graph = describe(binding, self._handle, node, dtype, window)
            graph.validate()
            graph.build_operation_graph()
            graph.create_execution_plans([binding.heur_mode.A, binding.heur_mode.FALLBACK])
            graph.deselect_numeric_notes(
                [getattr(binding.numerical_note, note) for note in _UNWANTED]
            )
            graph.deselect_workspace_greater_than(_MOST_WORKSPACE)
            graph.check_support()
            graph.build_plans()
            return Graph(partial(self._run, graph, graph.get_workspace_size()))
        except self._refusals as error:
            _log.info("cudnn has no %s of %s: %s", node, window, first_line(error))
            return None

    def _run(self, graph: Any, workspace_size: int, addresses: dict[int, int]) -> bool:
        with self._lock:
            try:
                workspace = self._pool.allocate(workspace_size)
                graph.execute(addresses, workspace.address, handle=self._handle)
            except (ResourceExhaustedError, RuntimeError, *self._refusals):
                return False
        return True


def describe(binding: Any, handle: Any, node: Node, dtype: str, window: Window) -> Any:
    """The graph of one node, not yet checked.

    cuDNN names sizes in the order batch (of filters: out channels), channels, rows, columns; where
    they lie is what strides say.
    """
    kind = getattr(binding.data_type, _TYPES[dtype])
    rows, columns = window.size
    graph = binding.pygraph(
        io_data_type=kind, intermediate_data_type=kind, compute_data_type=kind, handle=handle
    )
    layouts = {
        _IMAGES: _images_layout(*window.images),
        _FILTER: _filter_layout(rows, columns, window.images[3], window.outputs[3]),
        _OUTPUTS: _images_layout(*window.outputs),
    }
    taken, made = _ROLES[node]
    result = getattr(graph, node)(
        **{
            name: graph.tensor(
                dim=layouts[uid][0], stride=layouts[uid][1], data_type=kind, uid=uid
            )
            for name, uid in taken.items()
        },
        pre_padding=list(window.before),
        post_padding=list(window.after),
        stride=list(window.strides),
        dilation=list(window.dilations),
    )
    dims, strides = layouts[made]
    result.set_uid(made).set_output(True).set_data_type(kind).set_dim(dims).set_stride(strides)
    return graph


def _images_layout(batch: int, rows: int, columns: int, channels: int) -> _Layout:
    strides = [rows * columns * channels, 1, columns * channels, channels]
    return [batch, channels, rows, columns], strides


def _filter_layout(rows: int, columns: int, channels: int, out_channels: int) -> _Layout:
    strides = [1, out_channels, columns * channels * out_channels, channels * out_channels]
    return [out_channels, channels, rows, columns], strides
