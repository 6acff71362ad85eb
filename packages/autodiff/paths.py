"""Which operations a gradient has to pass on its way from the ys to the xs."""

from collections.abc import Collection, Iterable

from qanat.autodiff.differentiable import is_differentiable
from qanat.autodiff.rules import passes_gradient
from qanat.core.graph import Operation, Output


class Paths:
    """The part of a graph that lies between some xs and some ys.

    Attributes:
        operations: those that depend on an x and that a y depends on, each after all those that
            consume its outputs: the order in which gradients are propagated.
        carriers: the outputs by which an x can influence a y; gradients of all others are zero
            or of no interest.
    """

    def __init__(
        self, ys: Iterable[Output], xs: Iterable[Output], stops: Collection[Output]
    ) -> None:
        self.carriers = set(xs)
        self.operations: list[Operation] = []
        for op in ancestors(ys):
            if passes_gradient(op) and not self.carriers.isdisjoint(op.inputs):
                self.operations.append(op)
                self.carriers.update(
                    output
                    for output in op.outputs
                    if is_differentiable(output) and output not in stops
                )
        self.operations.reverse()


def ancestors(outputs: Iterable[Output]) -> list[Operation]:
    """All operations that the outputs depend on by data, each after those that it consumes from.

    A walk without recursion, since a graph is often deeper than Python's stack. Where a loop
    closes a cycle, the edge that closes it is ignored.
    """
    order: list[Operation] = []
    opened: set[Operation] = set()
    closed: set[Operation] = set()
    stack = [output.op for output in outputs]
    while stack:
        op = stack.pop()
        if op not in opened:
            opened.add(op)
            stack.append(op)
            stack.extend(source.op for source in op.inputs if source.op not in opened)
        elif op not in closed:
            closed.add(op)
            order.append(op)
    return order
