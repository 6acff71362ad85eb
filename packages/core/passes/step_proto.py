"""A part of a step on its way to the task that runs it: as a GraphDef, and from there to native
code without a Graph in between."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from qanat.core.passes.compile import encode_attrs
from qanat.core.passes.step_graph import StepGraph

if TYPE_CHECKING:
    from qanat.core.schema.graph_pb2 import GraphDef

# A note on each node: the types of its outputs, so that the reader need not know its op.
_OUTPUTS: Final = "_output_types"


def step_to_def(step: StepGraph) -> "GraphDef":
    """The nodes of a step; fetches and targets are the caller's to send."""
    from qanat.core.proto_values import attr_to_proto
    from qanat.core.schema import graph_pb2

    proto = graph_pb2.GraphDef()
    for node in step:
        written = proto.node.add(name=node.name, op=node.op, device=node.device)
        written.input.extend(map(str, node.inputs))
        written.input.extend([f"^{name}" for name in node.control_inputs])
        for name, value in node.attrs.items():
            if not name.startswith("_"):
                written.attr[name].CopyFrom(attr_to_proto(value))
        written.attr[_OUTPUTS].CopyFrom(attr_to_proto(list(node.dtypes)))
    return proto


def native_nodes(proto: "GraphDef") -> list[Any]:
    """What `_native` compiles, see `Node` in _native.pyi.

    Raises:
        TypeError, ValueError, KeyError: no `step_to_def` has made it.
    """
    from qanat.core.proto_values import attr_from_proto

    number = {node.name: i for i, node in enumerate(proto.node)}
    nodes = []
    for node in proto.node:
        attrs = {name: attr_from_proto(value, None) for name, value in node.attr.items()}
        outputs = attrs.pop(_OUTPUTS)
        inputs = [_port(text, number) for text in node.input if not text.startswith("^")]
        controls = [number[text[1:]] for text in node.input if text.startswith("^")]
        dtypes = [dtype.number for dtype in outputs]
        encoded = encode_attrs(node.op, attrs, outputs)
        nodes.append((node.name, node.op, inputs, controls, encoded, dtypes))
    return nodes


def native_ports(proto: "GraphDef", ports: Sequence[str]) -> list[tuple[int, int]]:
    """The node numbers and ports of texts such as "x" and "x:1".

    Raises:
        KeyError, ValueError: there is no such node.
    """
    number = {node.name: i for i, node in enumerate(proto.node)}
    return [_port(text, number) for text in ports]


def _port(text: str, number: dict[str, int]) -> tuple[int, int]:
    name, _, port = text.partition(":")
    return number[name], int(port or 0)
