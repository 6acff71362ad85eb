"""From a placed StepGraph to native code's flat arrays: where Python hands over."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qanat.core.dtypes import DType
from qanat.core.passes.step_graph import StepGraph
from qanat.core.python_kernel import function_of
from qanat.core.shapes import TensorShape

if TYPE_CHECKING:
    from qanat.core import _native


def native_step(graph: StepGraph) -> tuple[list[Any], list[tuple[int, int]], list[int]]:
    """Nodes, fetches and targets as native code reads them. Node i is the i-th of the graph."""
    number = {name: i for i, name in enumerate(graph.nodes)}
    nodes = [
        (
            node.name,
            node.op,
            [(number[ref.node], ref.port) for ref in node.inputs],
            [number[name] for name in node.control_inputs],
            encode_attrs(node.op, node.attrs, node.dtypes, node.shapes),
            [dtype.number for dtype in node.dtypes],
        )
        for node in graph
    ]
    fetches = [(number[ref.node], ref.port) for ref in graph.fetches]
    return nodes, fetches, [number[name] for name in graph.targets]


def compile_step(graph: StepGraph, runtime: "_native.Runtime") -> "_native.Executable":
    """The executable of a step.

    Raises:
        StatusError: a kernel refuses its node; `node` says which.
    """
    from qanat.core import _native

    nodes, fetches, targets = native_step(graph)
    executable = _native.Executable(runtime, nodes, fetches, targets)
    executable.functions = [
        attrs["python_function"][1] for *_, attrs, _ in nodes if "python_function" in attrs
    ]
    return executable


def encode_attrs(
    op: str, attrs: Mapping[str, Any], dtypes: Sequence[DType], shapes: Sequence[TensorShape] = ()
) -> dict[str, Any]:
    """The attributes kernels may ask for; those with a leading "_" are notes between passes.

    Args:
        dtypes: of the node's outputs.
        shapes: what is known of theirs; empty for nothing.
    """
    encoded = {name: _encode(value) for name, value in attrs.items() if not name.startswith("_")}
    function = function_of(op, attrs, dtypes, shapes)
    if function is not None:
        encoded["python_function"] = ("function", function)
    return encoded


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
