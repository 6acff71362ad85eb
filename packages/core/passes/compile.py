"""From a placed StepGraph to native code's flat arrays: where Python hands over."""

from typing import TYPE_CHECKING, Any

import numpy as np

from qanat.core.dtypes import DType
from qanat.core.passes.step_graph import Node, StepGraph
from qanat.core.python_kernel import function_of
from qanat.core.shapes import TensorShape

if TYPE_CHECKING:
    from qanat.core import _native


def compile_step(graph: StepGraph, runtime: "_native.Runtime") -> "_native.Executable":
    """The executable of a step. Node i of it is the i-th of the graph.

    Raises:
        StatusError: a kernel refuses its node; `node` says which.
    """
    from qanat.core import _native

    number = {name: i for i, name in enumerate(graph.nodes)}
    nodes = [
        (
            node.name,
            node.op,
            [(number[ref.node], ref.port) for ref in node.inputs],
            [number[name] for name in node.control_inputs],
            _attrs(node),
            [dtype.number for dtype in node.dtypes],
        )
        for node in graph
    ]
    functions = [
        attrs["python_function"][1] for *_, attrs, _ in nodes if "python_function" in attrs
    ]
    fetches = [(number[ref.node], ref.port) for ref in graph.fetches]
    targets = [number[name] for name in graph.targets]
    executable = _native.Executable(runtime, nodes, fetches, targets)
    executable.functions = functions
    return executable


def _attrs(node: Node) -> dict[str, Any]:
    """The attributes kernels may ask for; those with a leading "_" are notes between passes."""
    attrs = {name: _encode(value) for name, value in node.attrs.items() if not name.startswith("_")}
    function = function_of(node)
    if function is not None:
        attrs["python_function"] = ("function", function)
    return attrs


def _encode(value: Any) -> Any:
    if isinstance(value, DType):
        return ("type", value.number)
    if isinstance(value, TensorShape):
        return (
            "shape",
            None if value.dims is None else [-1 if d is None else d for d in value.dims],
        )
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, list):
        return [
            element.number if isinstance(element, DType) else _encode(element) for element in value
        ]
    return np.asarray(value) if isinstance(value, np.ndarray) else value
