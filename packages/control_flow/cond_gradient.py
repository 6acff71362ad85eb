"""The gradient of `cond`: a `cond` by the same predicate, each branch the gradient of one.

Source: Yu et al., "Dynamic control flow in large-scale machine learning" (EuroSys 2018), section
5.1.
"""

from collections.abc import Sequence

from qanat.autodiff.gradients import backpropagate
from qanat.control_flow.cond_context import BranchContext, Branches
from qanat.control_flow.once import OnceOnly
from qanat.control_flow.zeros import zeros_for
from qanat.core.graph import Output, get_default_graph


class CondConstruct:
    """A finished `cond`, as the engine of gradients sees it: see `qanat.autodiff.constructs`."""

    def __init__(
        self,
        branches: Branches,
        false: Sequence[Output],
        true: Sequence[Output],
        outputs: Sequence[Output],
    ) -> None:
        self.name = branches.true.name
        self.outputs = list(outputs)
        self._branches = branches
        self._results = {branches.false: list(false), branches.true: list(true)}

    @property
    def inputs(self) -> list[Output]:
        """What the branches take in."""
        both = (*self._branches.false.ways_in(), *self._branches.true.ways_in())
        return list(dict.fromkeys(outer for outer, _ in both))

    def input_gradients(self, grads: Sequence[Output | None]) -> list[tuple[Output, Output | None]]:
        graph = get_default_graph()
        with graph.name_scope("cond") as scope:
            backward = Branches(graph, scope, self._branches.predicate, self._branches)
            flow = graph.surroundings().flow
            if flow is not None:
                backward.predicate = flow.capture([backward.predicate])[0]
            false = self._partials(backward.false, self._branches.false, grads)
            true = self._partials(backward.true, self._branches.true, grads)
            reached = [x for x in self.inputs if x in false or x in true]
            merged = backward.merge(
                [_complete(backward.false, false, x) for x in reached],
                [_complete(backward.true, true, x) for x in reached],
            )
            received = [grad for grad in grads if grad is not None]
            where = self._branches.true.where
            OnceOnly(scope.rstrip("/"), where, [*self.inputs, *received], merged)
            return list(zip(reached, merged, strict=True))

    def _partials(
        self, at: BranchContext, forward: BranchContext, grads: Sequence[Output | None]
    ) -> dict[Output, Output]:
        """The gradients of what a branch takes in, as far as there are any."""
        ways = list(forward.ways_in())
        given = [
            (y, grad)
            for y, grad in zip(self._results[forward], grads, strict=True)
            if grad is not None
        ]
        with at.graph.within(at):
            found = backpropagate(
                [y for y, _ in given], [inner for _, inner in ways], [g for _, g in given]
            )
        return {
            outer: grad for (outer, _), grad in zip(ways, found, strict=True) if grad is not None
        }


def _complete(at: BranchContext, partials: dict[Output, Output], x: Output) -> Output:
    with at.graph.within(at), at.named():
        grad = partials.get(x)
        return at.deliver(zeros_for(x) if grad is None else grad)
