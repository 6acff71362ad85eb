"""Decides on which device each node runs.

Nodes that must stand together (colocation, and whoever uses a resource) form groups by union-find.
A device is feasible for a group if every node's constraint allows it and it has a kernel for every
node. The first feasible device in order of preference wins; for what owns a resource, the first
that also has a kernel for whoever uses the resource elsewhere in the graph, so that every step
finds it in one place. A resource that earlier steps have made is where it is: no other device is
feasible for its group, whatever the user allows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from qanat.core import dtypes
from qanat.core.attrs import as_text
from qanat.core.device_name import DeviceName
from qanat.core.errors import InvalidArgumentError, OpError, UnimplementedError
from qanat.core.kernel_table import KernelTable
from qanat.core.passes.step_graph import Node, StepGraph, node_error

# Stands for a fed value; every device can hold it.
_ARG = "_Arg"


@dataclass(frozen=True)
class _Group:
    nodes: tuple[Node, ...]

    def constraint(self) -> DeviceName | Node:
        """What all user constraints ask together, or the node whose constraint contradicts
        others."""
        first_with: dict[str, Node] = {}
        for node in self.nodes:
            first_with.setdefault(node.device, node)
        met = _intersection(tuple(first_with))
        return met if isinstance(met, DeviceName) else first_with[met]


@lru_cache(maxsize=1024)
def _intersection(devices: tuple[str, ...]) -> DeviceName | str:
    """What constraints ask together, or the first that contradicts those before it."""
    merged = DeviceName()
    for device in devices:
        both = merged.intersect(DeviceName.from_string(device))
        if both is None:
            return device
        merged = both
    return merged


def place(
    graph: StepGraph,
    devices: Sequence[DeviceName],
    kernels: KernelTable,
    allow_soft_placement: bool = False,
    absent: Mapping[str, str] = MappingProxyType({}),
    homes: Mapping[str, str] = MappingProxyType({}),
) -> StepGraph:
    """The same step with one device a node.

    Args:
        devices: whole names, the preferred ones first.
        kernels: what exists.
        allow_soft_placement: whether a user constraint that cannot be met is dropped.
        absent: by device type that could be here, why there is none, for messages.
        homes: by the node that owns it, the device that a resource is on.

    Raises:
        UnimplementedError: no device has a kernel for a node; the message lists those that exist.
        InvalidArgumentError: user constraints cannot be met together, or not by a device here; or
            resources on several devices are to stand together.
    """
    names: dict[str, str] = {}
    for group in _groups(graph):
        here = _around_home(group, devices, homes)
        chosen = str(_choose(group, here, kernels, allow_soft_placement, absent, homes))
        names.update((node.name, chosen) for node in group.nodes)
    return graph.with_nodes([node.replace(device=names[node.name]) for node in graph])


def _groups(graph: StepGraph) -> Iterable[_Group]:
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        root = name
        while (parent := parents.get(root, root)) != root:
            root = parent
        while name != root:
            parents[name], name = root, parents.get(name, name)
        return root

    for node in graph:
        for label in node.attrs.get("_class", ()):
            parents[find(node.name)] = find(as_text(label).removeprefix("loc:@"))
        for ref in node.inputs:
            if graph.nodes[ref.node].dtypes[ref.port] is dtypes.resource:
                parents[find(node.name)] = find(ref.node)
    members: dict[str, list[Node]] = {}
    for node in graph:
        members.setdefault(find(node.name), []).append(node)
    return [_Group(tuple(nodes)) for nodes in members.values()]


def _around_home(
    group: _Group, devices: Sequence[DeviceName], homes: Mapping[str, str]
) -> Sequence[DeviceName]:
    """The devices that a group may be on: the one that its resources are on, if they are on any."""
    settled = [node for node in group.nodes if node.name in homes]
    if not settled:
        return devices
    if len({homes[node.name] for node in settled}) > 1:
        where = ", ".join(f"'{node.name}' on {homes[node.name]}" for node in settled[:5])
        message = f"expected resources that stand together to be on one device, got {where}"
        raise node_error(InvalidArgumentError, settled[0], message)
    return [device for device in devices if str(device) == homes[settled[0].name]]


def _choose(
    group: _Group,
    devices: Sequence[DeviceName],
    kernels: KernelTable,
    soft: bool,
    absent: Mapping[str, str],
    homes: Mapping[str, str],
) -> DeviceName:
    able = [device for device in devices if _runs_all(device, group.nodes, kernels)]
    if len(able) > 1:
        able.sort(key=lambda device: not _runs_users(device, group.nodes, kernels))
    constraint = group.constraint()
    if isinstance(constraint, DeviceName):
        for device in able:
            if constraint.allows(device):
                return device
    if able and soft:
        return able[0]
    raise _refusal(group, constraint, devices, able, kernels, absent, homes)


def _runs_all(device: DeviceName, nodes: Sequence[Node], kernels: KernelTable) -> bool:
    kind = device.device_type or ""
    return all(node.op == _ARG or kernels.has(kind, node.op, node.attrs) for node in nodes)


def _runs_users(device: DeviceName, nodes: Sequence[Node], kernels: KernelTable) -> bool:
    """Whether a device has a kernel for all of the graph that uses a resource of these nodes."""
    kind = device.device_type or ""
    handles = [
        output
        for node in nodes
        if node.origin is not None and dtypes.resource in node.dtypes
        for output in node.origin.outputs
    ]
    users = (user for handle in handles for user in handle.consumers())
    return all(kernels.has(kind, user.type, user._attrs) for user in users)


def _refusal(
    group: _Group,
    constraint: DeviceName | Node,
    devices: Sequence[DeviceName],
    able: Sequence[DeviceName],
    kernels: KernelTable,
    absent: Mapping[str, str],
    homes: Mapping[str, str],
) -> OpError:
    here = ", ".join(map(str, devices))
    settled = [node.name for node in group.nodes if node.name in homes]
    if settled:
        here += f" (where an earlier step has put '{settled[0]}')"
    for node in group.nodes:
        if not any(_runs_all(device, (node,), kernels) for device in devices):
            types = ", ".join(
                f"{name}={value}"
                for name, value in sorted(node.attrs.items())
                if isinstance(value, dtypes.DType)
            )
            return node_error(
                UnimplementedError,
                node,
                f"expected a kernel for {types or 'this op'} on one of {here}; the kernels that "
                f"exist: {kernels.describe(node.op)}",
            )
    constrained = [node for node in group.nodes if node.device] or list(group.nodes)
    asked = ", ".join(f"'{node.name}' on {node.device}" for node in constrained[:5] if node.device)
    if isinstance(constraint, Node):
        return node_error(
            InvalidArgumentError,
            constraint,
            f"expected devices that agree for nodes that stand together, got {asked}",
        )
    node = constrained[0]
    if able:
        what = f"expected one of the devices {here if settled else ', '.join(map(str, able))}"
        what += f", got {asked}"
        missing = absent.get(constraint.device_type or "")
        if missing is not None:
            what += f" ({missing})"
        return node_error(
            InvalidArgumentError, node, f"{what}; allow_soft_placement=True drops such constraints"
        )
    ops = ", ".join(f"'{node.name}' ({node.op})" for node in group.nodes[:5])
    return node_error(
        UnimplementedError,
        node,
        f"expected a device with kernels for all of {ops}, which stand together, among {here}",
    )
