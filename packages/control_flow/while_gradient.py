"""The gradient of `while_loop`: a loop that runs as often, backwards.

The forward loop gets a counter, and a stack for each value that the backward body needs. Gradients
of loop variables circulate in the backward loop; those of what the loop takes in for all iterations
are summed in it. Source: Yu et al., "Dynamic control flow in large-scale machine learning" (EuroSys
2018), section 5.1.
"""

from collections.abc import Sequence

from qanat.autodiff.constructs import node_of
from qanat.autodiff.differentiable import is_differentiable
from qanat.autodiff.gradients import backpropagate
from qanat.control_flow.once import OnceOnly
from qanat.control_flow.while_context import LoopVariable, WhileContext
from qanat.control_flow.zeros import zeros_for
from qanat.core.graph import Operation, Output, get_default_graph
from qanat.core.shapes import SCALAR
from qanat.ops import add

Pairs = list[tuple[Output, Output | None]]


class WhileConstruct:
    """A finished loop, as the engine of gradients sees it: see `qanat.autodiff.constructs`."""

    def __init__(self, context: WhileContext, outputs: Sequence[Output]) -> None:
        self.name = context.name
        self.outputs = list(outputs)
        self._context = context
        self._variables = list(context.variables)

    @property
    def inputs(self) -> list[Output]:
        """What the variables begin with, and what the loop takes in for all iterations."""
        begins = [variable.initial for variable in self._variables]
        return [*begins, *(outer for outer, _ in self._context.ways_in())]

    def input_gradients(self, grads: Sequence[Output | None]) -> Pairs:
        active = self._active(grads)
        graph = get_default_graph()
        with graph.name_scope("while") as scope:
            results = _Backward(self._context, scope, active).build()
            received = [grad for grad in grads if grad is not None]
            made = [grad for _, grad in results if grad is not None]
            where = self._context.where
            OnceOnly(scope.rstrip("/"), where, [*self.inputs, *received], made)
            return results

    def _active(self, grads: Sequence[Output | None]) -> list[tuple[LoopVariable, Output | None]]:
        """The variables that a gradient reaches, in this iteration or an earlier one."""
        found = {
            i
            for i, variable in enumerate(self._variables)
            if grads[i] is not None and is_differentiable(variable.merge)
        }
        while True:
            used = _used_by(
                [self._variables[i].next for i in found],
                {self._variables[i].body for i in range(len(self._variables))},
            )
            more = {
                i
                for i, variable in enumerate(self._variables)
                if variable.body in used and is_differentiable(variable.merge)
            }
            if more <= found:
                return [(self._variables[i], grads[i]) for i in sorted(found)]
            found |= more


def _used_by(ys: Sequence[Output | None], bodies: set[Output | None]) -> set[Output]:
    """Which of the variables' values in the body the ys depend on, within the body."""
    used: set[Output] = set()
    seen: set[Operation] = set()
    waiting = [y for y in ys if y is not None]
    while waiting:
        output = waiting.pop()
        if output in bodies:
            used.add(output)
        elif output.op not in seen:
            seen.add(output.op)
            waiting.extend(node_of(output.op).inputs)
    return used


class _Backward:
    """The backward loop in the making."""

    def __init__(
        self,
        forward: WhileContext,
        scope: str,
        active: Sequence[tuple[LoopVariable, Output | None]],
    ) -> None:
        self._forward = forward
        self._active = active
        graph = get_default_graph()
        self._loop = WhileContext(graph, scope, forward.parallel_iterations, forward)

    def build(self) -> Pairs:
        loop, graph = self._loop, self._loop.graph
        left = loop.begin(self._forward.count(), SCALAR)
        loop.counter = left
        loop.variables.append(left)
        for variable, grad in self._active:
            begins = _zeros_after(variable) if grad is None else grad
            loop.variables.append(loop.begin(begins, variable.merge.shape))
        with graph.within(loop), loop.named():
            goes_on = left.merge > 0
        loop.decide(goes_on)
        ways = [way for way in self._forward.ways_in() if is_differentiable(way[0])]
        assert left.body is not None
        with graph.within(loop), loop.named():
            stepped = loop.ordered_step(left.body, -1)
        grads = self._in_body([inner for _, inner in ways])
        loop.close(left, stepped)
        results: Pairs = []
        for (variable, _), carried, grad in zip(
            self._active, loop.variables[1:], grads, strict=False
        ):
            results.append((variable.initial, loop.close(carried, self._or_zeros(variable, grad))))
        for (outer, _), partial in zip(ways, grads[len(self._active) :], strict=True):
            if partial is not None:
                results.append((outer, self._summed(outer, partial)))
        return results

    def _in_body(self, constants: Sequence[Output]) -> list[Output | None]:
        """The gradients of the active variables and of the constants in one iteration."""
        ys = [variable.next for variable, _ in self._active]
        xs = [variable.body for variable, _ in self._active]
        seeds = [carried.body for carried in self._loop.variables[1:]]
        with self._loop.graph.within(self._loop):
            return backpropagate(
                [y for y in ys if y is not None],
                [*(x for x in xs if x is not None), *constants],
                [seed for seed in seeds if seed is not None],
            )

    def _or_zeros(self, variable: LoopVariable, grad: Output | None) -> Output:
        if grad is not None:
            return grad
        assert variable.body is not None
        with self._loop.graph.within(self._loop), self._loop.named():
            return zeros_for(variable.body)

    def _summed(self, outer: Output, partial: Output) -> Output:
        """The sum of a partial derivative over all iterations."""
        with self._loop.named():
            begins = zeros_for(outer)
        shape = begins.shape
        total = self._loop.add(begins, shape, lambda so_far: add(so_far, partial))
        assert total.result is not None
        return total.result


def _zeros_after(variable: LoopVariable) -> Output:
    assert variable.result is not None
    return zeros_for(variable.result)
