"""Which loop and which branch each node of a step is in.

Branches and loops are known by the roles of ops alone, so this holds for graphs that were read from
a file, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from qanat.core.attrs import as_text
from qanat.core.errors import InvalidArgumentError
from qanat.core.passes.step_graph import Node, Ref, StepGraph, node_error
from qanat.core.signature import OpDef, Role

# The names of the loops around a node, the outermost first.
Frame = tuple[str, ...]
# Outputs of Switches that have to be alive: each a predicate and the output it chooses.
Taken = frozenset[tuple[Ref, int]]

_ROOT: Final[Frame] = ()
_ALWAYS: Final[Taken] = frozenset()


@dataclass(frozen=True)
class Place:
    """Where a node runs.

    Attributes:
        frame: None for constants and fed values, which are everywhere.
        taken: what has to be so within the frame.
    """

    frame: Frame | None
    taken: Taken


def is_value(op_def: OpDef) -> bool:
    """Whether nodes of the op are values that a step has from its beginning."""
    return op_def.name in ("Const", "_Arg")


def closes_loop(consumer: OpDef, producer: OpDef) -> bool:
    """Whether an edge between such nodes is a back edge, the only kind that may form a circle."""
    return consumer.role is Role.MERGE and producer.role is Role.NEXT_ITERATION


def has_control_flow(nodes: Iterable[Node]) -> bool:
    """Whether a value may be dead, or there several times."""
    return any(node.op_def.role is not Role.NONE or _received_in(node) for node in nodes)


def shown_taken(taken: Taken) -> list[str]:
    """What has to be so, as an attr: `_Recv` has it of the value that is sent, in "branches"."""
    return sorted(f"{ref.node}:{ref.port}:{output}" for ref, output in taken)


def _received_in(node: Node) -> Taken:
    """What shown_taken() showed; nothing for nodes that are no `_Recv`."""
    texts = node.attrs.get("branches", ()) if node.op == "_Recv" else ()
    split = [as_text(text).rsplit(":", 2) for text in texts]
    return frozenset((Ref(name, int(port)), int(output)) for name, port, output in split)


def forward_inputs(nodes: Mapping[str, Node], node: Node) -> list[Ref]:
    """A node's inputs but for back edges."""
    if node.op_def.role is not Role.MERGE:
        return list(node.inputs)
    return [ref for ref in node.inputs if not closes_loop(node.op_def, nodes[ref.node].op_def)]


class Flow:
    """The places of all nodes of a step.

    Attributes:
        loops: the first node that enters each frame.
    """

    def __init__(self, graph: StepGraph) -> None:
        """
        Raises:
            InvalidArgumentError: a node uses values of several loops, or a loop's value outside.
        """
        self._nodes = graph.nodes
        self._inner: dict[str, Place] = {}
        self._outer: dict[str, Place] = {}
        self._entered: dict[Frame, Taken] = {}
        self.loops: dict[Frame, Node] = {}
        for node in graph:
            self._visit(node)

    def place(self, name: str) -> Place:
        """Where a node runs: what its inputs are alive in."""
        return self._inner[name]

    def place_of(self, ref: Ref) -> Place:
        """Where an output is alive."""
        place = self._outer[ref.node]
        node = self._nodes[ref.node]
        if node.op_def.role is not Role.SWITCH:
            return place
        return Place(place.frame, place.taken | {(node.inputs[1], ref.port)})

    def place_after(self, name: str) -> Place:
        """Where the end of a node can be waited for."""
        return self._outer[name]

    def loop_of(self, name: str) -> Node | None:
        """The first Enter of the innermost loop that a node's outputs are in."""
        return self.loops.get(self._outer[name].frame or _ROOT)

    def _visit(self, node: Node) -> None:
        refs = forward_inputs(self._nodes, node)
        given = {str(ref): self.place_of(ref) for ref in refs}
        waits = {f"^{name}": self._outer[name] for name in node.control_inputs}
        frame = self._common_frame(node, given | waits)
        if node.op_def.role is Role.MERGE:
            taken = frozenset.intersection(*(place.taken for place in given.values()))
        else:
            taken = _received_in(node).union(*(place.taken for place in (given | waits).values()))
        self._inner[node.name] = self._outer[node.name] = Place(frame, taken)
        if node.op_def.role is Role.ENTER:
            inside = (*(frame or _ROOT), as_text(node.attrs["frame_name"]))
            self.loops.setdefault(inside, node)
            self._entered[inside] = self._entered.get(inside, _ALWAYS) | taken
            self._outer[node.name] = Place(inside, _ALWAYS)
        elif node.op_def.role is Role.EXIT:
            if not frame:
                message = "expected a value of a loop, got one of none"
                raise node_error(InvalidArgumentError, node, message)
            self._outer[node.name] = Place(frame[:-1], self._entered[frame])

    def _common_frame(self, node: Node, places: Mapping[str, Place]) -> Frame | None:
        known = {name: place.frame for name, place in places.items() if place.frame is not None}
        if len(set(known.values())) > 1:
            shown = ", ".join(f"{name!r} of {self._shown(frame)}" for name, frame in known.items())
            raise node_error(
                InvalidArgumentError,
                node,
                f"expected inputs of one loop, got {shown}: a value comes into a loop through "
                "Enter and out of it through Exit",
            )
        if known:
            return next(iter(known.values()))
        return None if is_value(node.op_def) else _ROOT

    def _shown(self, frame: Frame) -> str:
        if not frame:
            return "no loop"
        return f"loop {frame[-1]!r}{_made(self.loops[frame])}"


def check_results(graph: StepGraph, flow: Flow) -> None:
    """
    Raises:
        InvalidArgumentError: a fetch or target is in a loop, where it has many values or none. A
            `_Send` may be there, and runs in each iteration.
    """
    targets = [name for name in graph.targets if graph.nodes[name].op != "_Send"]
    for name in (*(ref.node for ref in graph.fetches), *targets):
        loop = flow.loop_of(name)
        if loop is not None:
            frame = as_text(loop.attrs["frame_name"])
            raise node_error(
                InvalidArgumentError,
                graph.nodes[name],
                f"expected something outside of all loops to fetch or run, got a node in loop "
                f"{frame!r}{_made(loop)}: use what the loop returns",
            )


def _made(node: Node) -> str:
    line = None if node.origin is None else node.origin.user_line
    return "" if line is None else f" (made at {line})"
