"""What passes over a StepGraph for phones share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.op_def import lookup
from qanat.core.ordering import postorder
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.shapes import TensorShape

Array = np.ndarray[Any, Any]


def constant_of(graph: StepGraph, ref: Ref) -> Array | None:
    """The value of an input that is a constant."""
    node = graph.nodes[ref.node]
    return node.attrs["value"] if node.op == "Const" else None


def constant_node(name: str, value: Array, like: Node) -> Node:
    """A new constant, for the errors of another node."""
    value.flags.writeable = False
    dtype = dtypes.as_dtype(value.dtype)
    return like.replace(
        name=name,
        op_def=lookup("Const"),
        inputs=(),
        control_inputs=(),
        attrs={"value": value, "dtype": dtype},
        dtypes=(dtype,),
        shapes=(TensorShape(value.shape),),
    )


def with_nodes(graph: StepGraph, changed: Mapping[str, Node]) -> StepGraph:
    """The step with nodes replaced or added, in order, without those that nobody needs."""
    nodes = {**graph.nodes, **changed}
    roots = [*graph.feeds, *(ref.node for ref in graph.fetches), *graph.targets]
    order = postorder(roots, lambda name: [ref.node for ref in nodes[name].inputs])
    return graph.with_nodes([nodes[name] for name in order])
