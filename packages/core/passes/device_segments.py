"""Cuts what is placed on a device that runs from Python into segments, each of which becomes one
node that the executor calls.

A segment takes all its inputs before it begins. So what comes back from elsewhere, and was sent
there by the device itself, has to begin another one: a node's level counts how often its values
have left such a device, and nodes of one level and device are a segment.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.device_library import Segment
from qanat.core.dtypes import DType
from qanat.core.errors import UnimplementedError
from qanat.core.op_def import In, Shapes, op
from qanat.core.passes.flow import has_control_flow
from qanat.core.passes.partition import Partitions
from qanat.core.passes.step_graph import Node, Ref, StepGraph, node_error
from qanat.core.shapes import UNKNOWN

# Where a part meets the others: these stay nodes of the executor.
_ENDS = ("_Arg", "_Recv", "_Send")

_Place = tuple[str, str]  # a device, and a node of its part


@op("_DeviceSegment", outputs="outputs: Tout", Tin=dtypes.ALL, stateful=True, differentiable=False)
def _device_segment(
    inputs: Annotated[list[In], "Tin"],
    *,
    Tout: list[DType],  # noqa: N803 (the attr's name)
) -> Shapes:
    """Runs part of a step on a device. Made by `with_segments` alone."""
    return [UNKNOWN] * len(Tout)


# Gives the function that runs a segment, and the nodes that its inputs come from.
Compile = Callable[[Segment, Sequence[Node]], Callable[..., Any]]


def with_segments(
    planned: Partitions, compilers: Mapping[str, Compile]
) -> tuple[Partitions, dict[str, Segment]]:
    """The parts of a step, with segments in place of the nodes of some devices.

    Args:
        compilers: by device, for those that run from Python.

    Returns:
        The parts; and by the name of the node that runs it, each segment.

    Raises:
        UnimplementedError: such a part has branches or loops.
    """
    devices = planned.parts.keys() & compilers.keys()
    if not devices:
        return planned, {}
    levels = _levels(planned.parts, devices)
    parts, segments, fetches = dict(planned.parts), {}, list(planned.fetches)
    for device in devices:
        part = planned.parts[device]
        _refuse_control_flow(part)
        cut = _Cut(part, {name: levels[device, name] for name in part.nodes})
        segments.update({segment.name: segment for segment in cut.segments()})
        parts[device] = cut.graph(compilers[device])
    return Partitions(parts, tuple(fetches)), segments


def _refuse_control_flow(part: StepGraph) -> None:
    if has_control_flow(part):
        node = next(node for node in part if has_control_flow([node]))
        message = f"expected no branches or loops on {node.device}, got one"
        raise node_error(UnimplementedError, node, message)


def _levels(parts: Mapping[str, StepGraph], leaving: Collection[str]) -> dict[_Place, int]:
    """For each node, how often at most what it uses has left one of the devices `leaving`."""
    senders = {
        _transfer(node): (device, node.name)
        for device, part in parts.items()
        for node in part
        if node.op == "_Send"
    }
    levels: dict[_Place, int] = {}

    def used_by(place: _Place) -> Iterable[_Place]:
        device, name = place
        node = parts[device].nodes[name]
        if node.op == "_Recv":
            sender = senders.get(_transfer(node))  # None where another process sends
            return [] if sender is None else [sender]
        return [
            (device, used) for used in (*(ref.node for ref in node.inputs), *node.control_inputs)
        ]

    waiting = [(device, name) for device, part in parts.items() for name in part.nodes]
    while waiting:
        place = waiting[-1]
        used = list(used_by(place))
        unknown = [other for other in used if other not in levels]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        steps = [levels[other] + (other[0] != place[0] and other[0] in leaving) for other in used]
        levels[place] = max(steps, default=0)
    return levels


def _transfer(node: Node) -> tuple[Any, ...]:
    return tuple(node.attrs[name] for name in ("tensor_name", "send_device", "recv_device"))


@dataclass
class _Level:
    """A segment as it grows; dicts for sets."""

    nodes: dict[str, Node] = field(default_factory=dict)
    inputs: dict[Ref, None] = field(default_factory=dict)
    outputs: dict[Ref, None] = field(default_factory=dict)
    waits: dict[str, None] = field(default_factory=dict)


class _Cut:
    """A part of a step, and the segments that its nodes are cut into."""

    def __init__(self, part: StepGraph, levels: Mapping[str, int]) -> None:
        self._part = part
        self._level_of = {
            node.name: levels[node.name]
            for node in part
            if node.op not in _ENDS and not _is_copied(node)
        }
        self._levels = {level: _Level() for level in sorted(set(self._level_of.values()))}
        for node in part:
            if node.name in self._level_of:
                self._add(self._levels[self._level_of[node.name]], node)
        for ref in (*part.fetches, *self._sent()):
            self._give(ref)
        self._segments = {
            level: Segment(
                _name(part, level),
                tuple(grown.nodes.values()),
                tuple(grown.inputs),
                tuple(grown.outputs),
                tuple(grown.waits),
            )
            for level, grown in self._levels.items()
        }

    def segments(self) -> Iterable[Segment]:
        return self._segments.values()

    def graph(self, compile_segment: Compile) -> StepGraph:
        """The part with one node a segment."""
        nodes = {node.name: node for node in self._part if node.op in ("_Arg", "_Recv")}
        made: dict[Ref, Ref] = {}
        sends = [node for node in self._part if node.op == "_Send"]
        for segment in self._segments.values():
            nodes[segment.name] = self._node(segment, made, compile_segment)
            made.update((ref, Ref(segment.name, i)) for i, ref in enumerate(segment.outputs))
            for send in [send for send in sends if send.inputs[0] in made]:
                nodes[send.name] = send.replace(inputs=(made[send.inputs[0]],))
                sends.remove(send)
        for send in sends:  # of a fed value
            nodes[send.name] = send
        # A copied node that nobody uses has no effect either.
        targets = [home for name in self._part.targets if (home := self._home(name)) in nodes]
        return StepGraph(
            nodes,
            self._part.feeds,
            tuple([made.get(ref, ref) for ref in self._part.fetches]),
            tuple(dict.fromkeys(targets)),
        )

    def _add(self, level: _Level, node: Node) -> None:
        for ref in node.inputs:
            self._need(level, ref.node)
            if ref.node not in level.nodes:
                level.inputs[ref] = None
                self._give(ref)
        inside = []
        for name in node.control_inputs:
            self._need(level, name)
            if name in level.nodes:
                inside.append(name)
            else:
                level.waits[self._home(name)] = None
        level.nodes[node.name] = node.replace(control_inputs=tuple(inside))

    def _need(self, level: _Level, name: str) -> None:
        """Copies a node that each segment has for itself."""
        node = self._part.nodes[name]
        if _is_copied(node):
            level.nodes.setdefault(name, node)

    def _give(self, ref: Ref) -> None:
        """Has a value's segment give it out."""
        node = self._part.nodes[ref.node]
        if _is_copied(node) and ref.node not in self._level_of:
            level = min(self._levels, default=0)
            self._levels.setdefault(level, _Level()).nodes.setdefault(ref.node, node)
            self._level_of[ref.node] = level
        if ref.node in self._level_of:
            self._levels[self._level_of[ref.node]].outputs[ref] = None

    def _sent(self) -> list[Ref]:
        return [node.inputs[0] for node in self._part if node.op == "_Send"]

    def _home(self, name: str) -> str:
        """The executor's node that a node of the part runs in."""
        level = self._level_of.get(name)
        return name if level is None else _name(self._part, level)

    def _node(self, segment: Segment, made: Mapping[Ref, Ref], compile_segment: Compile) -> Node:
        producers = [self._part.nodes[ref.node] for ref in segment.inputs]
        outputs = [(self._part.nodes[ref.node], ref.port) for ref in segment.outputs]
        kinds = tuple([node.dtypes[port] for node, port in outputs])
        return Node(
            name=segment.name,
            op_def=_device_segment.op_def,
            inputs=tuple([made.get(ref, ref) for ref in segment.inputs]),
            control_inputs=segment.waits,
            attrs={
                "Tin": [
                    node.dtypes[ref.port]
                    for node, ref in zip(producers, segment.inputs, strict=True)
                ],
                "Tout": list(kinds),
                "_function": compile_segment(segment, producers),
            },
            dtypes=kinds,
            shapes=tuple([node.shapes[port] for node, port in outputs]),
            device=next(iter(self._part)).device,
        )


def _is_copied(node: Node) -> bool:
    """Whether each segment that uses the node has one of its own: constants, and handles, which
    leave no segment."""
    is_source = not node.inputs and not node.control_inputs and node.op not in _ENDS
    return is_source and (node.op == "Const" or dtypes.resource in node.dtypes)


def _name(part: StepGraph, level: int) -> str:
    device = next(iter(part)).device.rpartition("device:")[2].replace(":", "_")
    return f"_segment_{device}_{level}"
