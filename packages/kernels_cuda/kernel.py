"""Kernels by op: functions that launch what computes a node.

    @cuda_kernel("Relu", T=FLOATS)
    def _(run: Run, x: DeviceArray) -> DeviceArray: ...

A kernel stands with its family in `kernels/`; nothing is a list of all.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Annotated, Any, Final, TypeVar, get_args

from qanat.core.device_library import Array, KernelKey
from qanat.core.dtypes import DType, float32, float64
from qanat.core.passes.step_graph import Node
from qanat.kernels_cuda.device import DeviceArray, Dims, Gpu

F = TypeVar("F", bound=Callable[..., Any])

FLOATS: Final = (float32, float64)

# What a parameter of a kernel says of where it wants its input: on the device where it is a
# DeviceArray, else one of these.
Host = Annotated[Array, "host"]
"""An input whose elements the kernel reads itself: sizes, axes."""
Anywhere = Annotated[Any, "anywhere"]
"""An input whose elements it does not read: an array of the host or the device, or a variable."""


class Run:
    """One run of a node.

    Attributes:
        gpu: launches.
        node: what is run.
        shapes: of its outputs.
    """

    __slots__ = ("gpu", "node", "shapes")

    def __init__(self, gpu: Gpu, node: Node, shapes: Sequence[Dims]) -> None:
        self.gpu = gpu
        self.node = node
        self.shapes = shapes

    def output(self, index: int = 0) -> DeviceArray:
        """Memory for an output, to be filled."""
        return self.gpu.empty(self.shapes[index], self.node.dtypes[index])

    def each(self, module: str, function: str, count: int, *parameters: Any) -> None:
        """Launches a kernel that loops over `count` elements."""
        self.gpu.launch(module, function, self.gpu.blocks(count), *parameters)


class CudaKernel:
    """A kernel of an op.

    Attributes:
        function: called as function(run, *inputs, **attrs); gives the output, a sequence of them
            where there are several, or None.
        places: for each input in turn "device", "host" or "anywhere"; the last is for all others.
        attrs: the names of the attributes it takes.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        parameters = list(inspect.signature(function).parameters.values())[1:]
        inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        self.places = [_place(parameter.annotation) for parameter in inputs]
        self.attrs = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

    def place(self, index: int) -> str:
        """Where it wants an input."""
        return self.places[min(index, len(self.places) - 1)]


def _place(annotation: Any) -> str:
    marks = get_args(annotation)[1:]
    return str(marks[0]) if marks else "device"


_kernels: Final[dict[str, list[tuple[dict[str, DType], CudaKernel]]]] = {}


def cuda_kernel(op: str, **types: DType | Sequence[DType]) -> Callable[[F], F]:
    """Decorator: the function is the kernel of an op, for each combination of these dtypes.

    Its keyword-only parameters are the node's attributes of these names.

    Args:
        types: by type attr, the dtype or dtypes it takes; any where nothing is said.
    """

    def register(function: F) -> F:
        kernel = CudaKernel(function)
        choices = [(given,) if isinstance(given, DType) else given for given in types.values()]
        for chosen in product(*choices):
            _kernels.setdefault(op, []).append((dict(zip(types, chosen, strict=True)), kernel))
        return function

    return register


@lru_cache(maxsize=1)
def _load_families() -> None:
    from qanat.kernels_cuda import kernels

    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        importlib.import_module(module.name)


def kernel_keys() -> Iterator[KernelKey]:
    """All kernels, as placement knows them."""
    _load_families()
    for op, variants in _kernels.items():
        for types, _ in variants:
            yield op, {attr: dtype.number for attr, dtype in types.items()}


def kernel_of(node: Node) -> CudaKernel:
    """The kernel that runs a node, which placement has seen to exist."""
    _load_families()
    return next(
        kernel
        for types, kernel in _kernels[node.op]
        if all(_takes(node.attrs.get(attr), dtype) for attr, dtype in types.items())
    )


def _takes(value: Any, dtype: DType) -> bool:
    return all(each is dtype for each in value) if isinstance(value, list) else value is dtype
