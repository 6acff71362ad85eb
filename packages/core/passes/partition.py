"""Takes a placed step apart: one StepGraph a device, which meet in pairs of `_Send` and `_Recv`.

A value that crosses to a device is sent there once, however many nodes use it. A control edge
crosses as an empty tensor. Constants are copied to where they are used, and fed values go straight
to each device that needs them.

In a branch or loop the two ends of an edge are there, too. A dead value is sent as a dead token; a
loop has a part on each of its devices (`passes.control_loop`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import InternalError, located
from qanat.core.passes.control_loop import ControlLoops, device_label
from qanat.core.passes.flow import Flow, Place, has_control_flow, is_value, shown_taken
from qanat.core.passes.loop_edges import follow_values
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.shapes import TensorShape
from qanat.core.signature import Role, lookup

_EMPTY = np.zeros(0, np.bool_)


@dataclass(frozen=True)
class Partitions:
    """The parts of a step.

    Attributes:
        parts: by device, in the order of the step's nodes; each fetches what the step fetches of
            its nodes.
        fetches: for each fetch of the step the device, and its place among the part's fetches.
    """

    parts: Mapping[str, StepGraph]
    fetches: tuple[tuple[str, int], ...]


def partition(graph: StepGraph) -> Partitions:
    """The parts of a placed step.

    Args:
        graph: with a whole device name at each node.

    Raises:
        InternalError: the handle of a resource would have to leave its device.
        InvalidArgumentError: a loop that spans devices is none that can.
    """
    if len({node.device for node in graph}) == 1:
        device = next(iter(graph)).device
        return Partitions({device: graph}, tuple([(device, i) for i in range(len(graph.fetches))]))
    loops = None
    if has_control_flow(graph):
        graph = follow_values(graph)
        loops = ControlLoops(graph, Flow(graph))
    parts: dict[str, _Part] = {node.device: _Part(node.device, loops) for node in graph}
    for node in graph:
        _add(parts, graph, node)
    if loops is not None:
        loops.close(parts, lambda part, ref: _input(parts, graph, ref, parts[part.device]))
    fetches = []
    for ref in graph.fetches:
        device = graph.nodes[ref.node].device
        fetches.append((device, parts[device].fetch(ref)))
    for name in graph.targets:
        parts[graph.nodes[name].device].targets.append(name)
    return Partitions(
        {
            device: part.graph(graph.feeds)
            for device, part in parts.items()
            if part.fetches or part.targets  # else it only held what was copied elsewhere
        },
        tuple(fetches),
    )


def join(planned: Partitions) -> StepGraph:
    """All parts as one step, for a process that runs them together: the ends of edges meet
    there."""
    if len(planned.parts) == 1:
        return next(iter(planned.parts.values()))
    nodes: dict[str, Node] = {}
    feeds: dict[str, None] = {}
    for part in planned.parts.values():
        for node in part:
            nodes.setdefault(node.name, node)  # copies of constants and of fed values have one name
        feeds.update(dict.fromkeys(part.feeds))
    fetches = [planned.parts[device].fetches[place] for device, place in planned.fetches]
    targets = [name for part in planned.parts.values() for name in part.targets]
    return StepGraph(nodes, tuple(feeds), tuple(fetches), tuple(targets))


@dataclass
class _Part:
    """One device's part as it grows.

    Attributes:
        loops: of the whole step, where it has branches or loops.
        received: the `_Recv` of a value that comes from another device; a port of -1 is the end of
            its node.
    """

    device: str
    loops: ControlLoops | None
    nodes: dict[str, Node] = field(default_factory=dict)
    received: dict[Ref, Node] = field(default_factory=dict)
    fetches: list[Ref] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    def fetch(self, ref: Ref) -> int:
        self.fetches.append(ref)
        return len(self.fetches) - 1

    def graph(self, feeds: Iterable[str]) -> StepGraph:
        return StepGraph(
            self.nodes,
            tuple([name for name in feeds if name in self.nodes]),
            tuple(self.fetches),
            tuple(self.targets),
        )


def _add(parts: dict[str, _Part], graph: StepGraph, node: Node) -> None:
    part = parts[node.device]
    inputs = tuple([_input(parts, graph, ref, part) for ref in node.inputs])
    controls = [_control(parts, graph, name, part) for name in node.control_inputs]
    if part.loops is not None:
        controls += part.loops.starts(part, node)
    part.nodes[node.name] = node.replace(
        inputs=inputs, control_inputs=tuple(dict.fromkeys(controls))
    )


def _input(parts: dict[str, _Part], graph: StepGraph, ref: Ref, part: _Part) -> Ref:
    """What stands for a value on the part's device."""
    source = graph.nodes[ref.node]
    if source.device == part.device:
        return ref
    if source.op == "_Arg" or (source.op == "Const" and not source.control_inputs):
        part.nodes.setdefault(source.name, source.replace(device=part.device))
        return ref
    if ref not in part.received:
        dtype, shape = source.dtypes[ref.port], source.shapes[ref.port]
        if dtype is dtypes.resource:
            message = f"expected its handle to stay on {source.device}, got a use on {part.device}"
            raise InternalError(located(message, source.op, source.name), node_name=source.name)
        place = None if part.loops is None else part.loops.flow.place_of(ref)
        _transfer(parts[source.device], part, source, ref, ref, (dtype, shape), place)
    return Ref(part.received[ref].name, 0)


def _control(parts: dict[str, _Part], graph: StepGraph, name: str, part: _Part) -> str:
    """What stands on the part's device for the end of a node."""
    source = graph.nodes[name]
    if source.device == part.device:
        return name
    if is_value(source.op_def) and not source.control_inputs:
        return _input(parts, graph, Ref(name, 0), part).node
    # A value comes after the end of its node; only of a Switch it may be dead where that is not.
    values = () if source.op_def.role is Role.SWITCH else range(len(source.dtypes))
    for port in (-1, *values):
        if Ref(name, port) in part.received:
            return part.received[Ref(name, port)].name
    home = parts[source.device]
    signal = Node(
        name=f"_signal_{name}",
        op_def=lookup("Const"),
        inputs=(),
        control_inputs=(name,),
        attrs={"value": _EMPTY, "dtype": dtypes.bool_},
        dtypes=(dtypes.bool_,),
        shapes=(TensorShape([0]),),
        device=source.device,
        origin=source.origin,
    )
    home.nodes.setdefault(signal.name, signal)
    kind = (dtypes.bool_, TensorShape([0]))
    place = None if part.loops is None else part.loops.flow.place_after(name)
    _transfer(home, part, source, Ref(signal.name, 0), Ref(name, -1), kind, place)
    return part.received[Ref(name, -1)].name


def _transfer(
    home: _Part,
    away: _Part,
    source: Node,
    sent: Ref,
    key: Ref,
    kind: tuple[DType, TensorShape],
    place: Place | None,
) -> None:
    """Adds the two ends of an edge that brings `sent` from home to away, as `key`; `place` is where
    it is alive, None in a step without branches and loops."""
    dtype, shape = kind
    end = f"{sent.node}_{sent.port}_to_{device_label(away.device)}"
    names = {
        "tensor_name": f"{sent.node}:{sent.port}",
        "send_device": home.device,
        "recv_device": away.device,
    }
    home.nodes[f"_send_{end}"] = Node(
        name=f"_send_{end}",
        op_def=lookup("_Send"),
        inputs=(sent,),
        control_inputs=(),
        attrs={"T": dtype, **names},
        dtypes=(),
        shapes=(),
        device=home.device,
        origin=source.origin,
    )
    home.targets.append(f"_send_{end}")
    waits: tuple[str, ...] = ()
    branches: list[str] = []
    if place is not None and away.loops is not None:
        waits, branches = away.loops.waits(away, place.frame), shown_taken(place.taken)
    receiver = Node(
        name=f"_recv_{end}",
        op_def=lookup("_Recv"),
        inputs=(),
        control_inputs=waits,
        attrs={"tensor_type": dtype, **names, "branches": branches},
        dtypes=(dtype,),
        shapes=(shape,),
        device=away.device,
        origin=source.origin,
    )
    away.nodes[receiver.name] = receiver
    away.received[key] = receiver
