"""Rewrites of a placed step that keep what it computes, bit for bit unless a rule says otherwise.

A rule stands with the family of ops it is about and is registered by `@rewrite`. It looks at one
node and either leaves the step as it is or replaces a region, that is some nodes, by one:

    @rewrite("epilogue")
    def fuse_bias(step: Rewriter, node: Node) -> None: ...

Stages run in the order of STAGES; within one, every rule sees every node, users before what they
use.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from qanat.core import dtypes
from qanat.core.device_name import DeviceName
from qanat.core.kernel_table import KernelTable
from qanat.core.passes.flow import Flow, Place, has_control_flow
from qanat.core.passes.step_graph import Node, Ref, StepGraph

# An epilogue joins the op that makes the values it is applied to; what is left of the pointwise ops
# joins into programs.
STAGES: Final = ("epilogue", "elementwise")
# What kernels that join ops compute with. The halves are computed in float32 and rounded after each
# op: nothing is gained by joining them.
JOINED_DTYPES: Final = frozenset({dtypes.float32, dtypes.float64})

Rule = Callable[["Rewriter", Node], None]

_rules: Final[dict[str, list[Rule]]] = {stage: [] for stage in STAGES}


def rewrite(stage: str) -> Callable[[Rule], Rule]:
    """Decorator: registers a rule of a stage.

    Raises:
        KeyError: STAGES has no such stage.
    """

    def register(rule: Rule) -> Rule:
        _rules[stage].append(rule)
        return rule

    return register


def optimise(graph: StepGraph, kernels: KernelTable) -> StepGraph:
    """The step after all rules.

    Args:
        graph: placed.
        kernels: what exists; a rule whose new node has no kernel on its device changes nothing.
    """
    step = Rewriter(graph, kernels)
    for stage in STAGES:
        for rule in _rules[stage]:
            for name in reversed(list(step.nodes)):
                node = step.nodes.get(name)
                if node is not None:
                    rule(step, node)
    return step.graph()


class Rewriter:
    """A step that rules change.

    Attributes:
        nodes: by name, each after all it uses; for rules to read.
    """

    def __init__(self, graph: StepGraph, kernels: KernelTable) -> None:
        self.nodes: dict[str, Node] = dict(graph.nodes)
        self._graph = graph
        self._places: dict[str, Place] = {}
        if has_control_flow(graph):
            flow = Flow(graph)
            self._places = {name: flow.place(name) for name in graph.nodes}
        self._kernels = kernels
        # Dicts for sets: a plan is the same in every process.
        self._consumers = {
            name: {node.name: None for node in nodes} for name, nodes in graph.consumers.items()
        }
        self._position = {name: i for i, name in enumerate(graph.nodes)}
        self._fetches = list(graph.fetches)
        self._targets = list(graph.targets)
        self._visible = {*graph.targets, *(ref.node for ref in graph.fetches)}

    def producer(self, ref: Ref) -> Node:
        """The node that an input comes from."""
        return self.nodes[ref.node]

    def order(self, names: Collection[str]) -> list[Node]:
        """Some nodes, each after all it uses."""
        return [self.nodes[name] for name in sorted(names, key=self._position.__getitem__)]

    def consumers(self, node: Node) -> Collection[str]:
        """The names of the nodes that use its outputs or wait for it."""
        return self._consumers[node.name]

    def is_wanted(self, node: Node) -> bool:
        """Whether the step gives a value of the node, or runs it for its effect."""
        return node.name in self._visible

    def is_private(self, node: Node, region: Collection[str]) -> bool:
        """Whether nobody outside the region sees a value of the node or waits for it."""
        users = self._consumers[node.name]
        return not self.is_wanted(node) and all(user in region for user in users)

    def replace(self, region: Collection[str], new: Node, outputs: Mapping[Ref, Ref]) -> bool:
        """Puts one node in the place of a region, if that is possible.

        It is not where the device has no kernel for the new node, where a user of the region stands
        before the last node of it (so that no cycle can come about), or where the region is of
        several branches or loops (so that all of it runs when any of it does).

        Args:
            region: names of nodes.
            new: named like one of the region, or anew; whatever the region waited for is added to
                its control inputs.
            outputs: for each value of the region that is used outside, the one that stands for it.

        Returns:
            Whether it was done.
        """
        inside = set(region)
        places = {self._places.get(name) for name in inside}
        if len(places) > 1:
            return False
        last = max(self._position[name] for name in inside)
        users = {
            user: None for name in region for user in self._consumers[name] if user not in inside
        }
        if any(self._position[user] < last for user in users):
            return False
        kind = DeviceName.from_string(new.device).device_type or ""
        if not self._kernels.has(kind, new.op, new.attrs):
            return False
        waits = [name for old in region for name in self.nodes[old].control_inputs]
        waits = list(dict.fromkeys((*new.control_inputs, *waits)))
        new = new.replace(control_inputs=tuple([name for name in waits if name not in inside]))
        self._exchange(inside, new, last)
        place = next(iter(places))
        if place is not None:
            self._places[new.name] = place
        for user in users:
            self._redirect(user, inside, new.name, outputs)
        self._fetches = [outputs.get(ref, ref) for ref in self._fetches]
        self._targets = [new.name if name in inside else name for name in self._targets]
        if self._visible & inside:
            self._visible.add(new.name)
        self._consumers[new.name] = users
        return True

    def graph(self) -> StepGraph:
        """The step as it is now."""
        nodes = {node.name: node for node in self.order(self.nodes)}
        targets = tuple(dict.fromkeys(self._targets))
        return StepGraph(nodes, self._graph.feeds, tuple(self._fetches), targets)

    def _exchange(self, inside: set[str], new: Node, position: int) -> None:
        for name in inside:
            for used in self._uses(self.nodes.pop(name)):
                self._consumers[used].pop(name, None)
        self.nodes[new.name] = new
        self._position[new.name] = position
        for used in self._uses(new):
            self._consumers[used][new.name] = None

    def _uses(self, node: Node) -> list[str]:
        return [*(ref.node for ref in node.inputs), *node.control_inputs]

    def _redirect(self, user: str, inside: set[str], name: str, outputs: Mapping[Ref, Ref]) -> None:
        node = self.nodes[user]
        waits = (name if other in inside else other for other in node.control_inputs)
        self.nodes[user] = node.replace(
            inputs=tuple([outputs.get(ref, ref) for ref in node.inputs]),
            control_inputs=tuple(dict.fromkeys(waits)),
        )
