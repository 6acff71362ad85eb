"""Which operations a gradient has to pass on its way from the ys to the xs."""

from collections.abc import Collection, Iterable

from qanat.autodiff.constructs import Construct, node_of
from qanat.autodiff.differentiable import is_differentiable
from qanat.autodiff.rules import passes_gradient
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Role

Node = Operation | Construct


class Paths:
    """The part of a graph that lies between some xs and some ys.

    Attributes:
        nodes: the operations and constructs that depend on an x and that a y depends on, each after
            all those that consume its outputs: the order in which gradients are propagated.
        carriers: the outputs by which an x can influence a y; gradients of all others are zero
            or of no interest.
    """

    def __init__(
        self,
        ys: Iterable[Output],
        xs: Iterable[Output],
        stops: Collection[Output],
        limits: Iterable[Output] = (),
    ) -> None:
        """
        Args:
            stops: outputs that no gradient passes.
            limits: outputs beyond which nothing is looked at.
        """
        self.carriers = set(xs)
        self.nodes: list[Node] = []
        for node in ancestors(ys, frozenset(limits)):
            passes = not isinstance(node, Operation) or passes_gradient(node)
            if passes and not self.carriers.isdisjoint(node.inputs):
                self.nodes.append(node)
                self.carriers.update(
                    output
                    for output in node.outputs
                    if is_differentiable(output) and output not in stops
                )
        self.nodes.reverse()


def ancestors(outputs: Iterable[Output], limits: Collection[Output] = ()) -> list[Node]:
    """All operations and constructs that the outputs depend on by data, each after those that it
    consumes from; none that they depend on through `limits` alone.

    A walk without recursion, since a graph is often deeper than Python's stack. Where a loop
    closes a cycle, the edge that closes it is ignored.
    """
    order: list[Node] = []
    opened: set[Node] = set()
    closed: set[Node] = set()
    stack = [node_of(output.op) for output in outputs if output not in limits]
    while stack:
        node = stack.pop()
        if node not in opened:
            opened.add(node)
            stack.append(node)
            sources = (node_of(x.op) for x in _forward_inputs(node) if x not in limits)
            stack.extend(source for source in sources if source not in opened)
        elif node not in closed:
            closed.add(node)
            order.append(node)
    return order


def _forward_inputs(node: Node) -> Iterable[Output]:
    if not isinstance(node, Operation) or node.op_def.role is not Role.MERGE:
        return node.inputs
    return [x for x in node.inputs if x.op.op_def.role is not Role.NEXT_ITERATION]
