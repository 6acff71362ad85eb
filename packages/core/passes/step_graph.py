"""The part of a graph that one kind of step runs: frozen, printable, rewritten by passes.

    x = _Arg[T=float32, index=0]() : float32[2,?]
    y = Add[T=float32](x, c:1) ^init @/device:CPU:0 : float32[2,?]
    return y:0
    run train

Each line is a node: attributes in brackets, inputs (":0" is left out), control inputs after "^",
the device after "@", and the type and shape of each output.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from qanat.core.dtypes import DType
from qanat.core.errors import OpError, located
from qanat.core.operation import Operation, Output
from qanat.core.shapes import TensorShape
from qanat.core.signature import OpDef


class Ref(NamedTuple):
    """An output of a node."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}" if self.port else self.node


class Node(NamedTuple):
    """One operation of a step.

    Attributes:
        attrs: in checked form; read-only.
        device: what it is constrained to; after placement, one device.
        origin: the user's operation that errors are to name; None for nodes that passes added for
            nobody's operation in particular.
    """

    name: str
    op_def: OpDef
    inputs: tuple[Ref, ...]
    control_inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]
    device: str = ""
    origin: Operation | None = None

    @property
    def op(self) -> str:
        """The op's name."""
        return self.op_def.name

    def replace(self, **changes: Any) -> "Node":
        """This node with other fields."""
        return self._replace(**changes)

    def __str__(self) -> str:
        attrs = ", ".join(f"{name}={_show(value)}" for name, value in sorted(self.attrs.items()))
        text = f"{self.name} = {self.op}"
        if attrs:
            text += f"[{attrs}]"
        text += f"({', '.join(map(str, self.inputs))})"
        text += "".join(f" ^{name}" for name in self.control_inputs)
        if self.device:
            text += f" @{self.device}"
        if self.dtypes:
            results = (
                f"{dtype}{shape}" for dtype, shape in zip(self.dtypes, self.shapes, strict=True)
            )
            text += " : " + ", ".join(results)
        return text


def _show(value: Any) -> str:
    if isinstance(value, np.ndarray):
        elements = value.ravel()[:8].tolist()
        more = ", ..." if value.size > 8 else ""
        shape = ",".join(map(str, value.shape))
        return f"{value.dtype}[{shape}]{{{', '.join(map(repr, elements))}{more}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, float):
        return str(np.float32(value))  # the digits that tell it from others
    return str(value) if isinstance(value, (DType, TensorShape)) else repr(value)


@dataclass(frozen=True)
class StepGraph:
    """What one kind of step computes. Passes make new ones.

    Attributes:
        nodes: by name; whatever a node uses stands before it.
        feeds: the names of the `_Arg` nodes, in the order in which values are given.
        fetches: the outputs whose values a step gives.
        targets: the nodes a step runs for their effects.
    """

    nodes: Mapping[str, Node]
    feeds: tuple[str, ...] = ()
    fetches: tuple[Ref, ...] = ()
    targets: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def with_nodes(self, nodes: Sequence[Node]) -> "StepGraph":
        """The same step with other nodes, given in order."""
        return StepGraph({n.name: n for n in nodes}, self.feeds, self.fetches, self.targets)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that use each node's outputs or wait for it."""
        found: dict[str, list[Node]] = {name: [] for name in self.nodes}
        for node in self:
            for name in dict.fromkeys((*(ref.node for ref in node.inputs), *node.control_inputs)):
                found[name].append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def __str__(self) -> str:
        lines = [str(node) for node in self]
        if self.fetches:
            lines.append("return " + ", ".join(f"{ref.node}:{ref.port}" for ref in self.fetches))
        if self.targets:
            lines.append("run " + ", ".join(self.targets))
        return "\n".join(lines) + "\n"


class StepGraphs:
    """The parts of one step, as a collection of all their nodes."""

    def __init__(self, parts: Sequence[StepGraph]) -> None:
        self.parts = tuple(parts)

    def __iter__(self) -> Iterator[Node]:
        return (node for part in self.parts for node in part)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __str__(self) -> str:
        return "\n".join(map(str, self.parts))


def node_error(kind: type[OpError], node: Node, message: str) -> OpError:
    """An error whose message names the node, and the user's line that it comes from."""
    line = None if node.origin is None else node.origin.user_line
    text = located(message, node.op, node.name, line)
    return kind(text, op=node.origin, node_name=node.name, user_line=line)


def ref_of(output: Output) -> Ref:
    """The same output in a StepGraph."""
    return Ref(output.op.name, output.index)
