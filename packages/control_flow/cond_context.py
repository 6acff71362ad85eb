"""The two branches of a `cond` while they are built."""

from qanat.control_flow.contexts import Context, belongs
from qanat.control_flow.handles import beside
from qanat.core.base_ops import identity
from qanat.core.graph import Graph, Operation, Output
from qanat.ops import control_flow as ops


class BranchContext(Context):
    """What runs where a predicate is true, or where it is false."""

    kind = "branch"

    def __init__(self, branches: "Branches", taken: bool, mirrors: "BranchContext | None") -> None:
        super().__init__(branches.graph, branches.scope, mirrors)
        self.branches = branches
        self.taken = taken
        self._pivot: Operation | None = None
        self._ways_in: set[Operation] = set()

    @property
    def where(self) -> str:
        return super().where.replace("branch", f"the {str(self.taken).lower()} branch of", 1)

    def pivot(self) -> Operation:
        if self._pivot is None:
            predicate = self.branches.predicate
            outer = predicate if self.outer is None else self.outer.capture_one(predicate)
            alive = self._bring_in(outer)
            with self.on_the_border():
                self._pivot = identity(alive, name="pivot").op
            belongs(self._pivot, None, self)
        return self._pivot

    def is_way_in(self, op: Operation) -> bool:
        return op in self._ways_in

    def _is_free(self, value: Output) -> bool:
        return value.op.type == "Const"

    def _bring_in(self, value: Output) -> Output:
        predicate = self.branches.predicate
        chooses = predicate if self.outer is None else self.outer.capture_one(predicate)
        with self.around(), beside(value):
            both: list[Output] = ops.switch(value, chooses, name="Switch")
        self._ways_in.add(belongs(both[0].op, self.outer, self))
        return both[int(self.taken)]

    def deliver(self, value: Output) -> Output:
        """A value as the result of this branch: a constant is sent by a node."""
        inner = self.capture_one(value)
        if inner.op.type != "Const":
            return inner
        with self.graph.within(self), self.named():
            return identity(inner)


class Branches:
    """Both branches.

    Attributes:
        predicate: outside of them.
        true, false: the branches.
    """

    def __init__(
        self, graph: Graph, scope: str, predicate: Output, mirrors: "Branches | None" = None
    ) -> None:
        self.graph = graph
        self.scope = scope
        self.predicate = predicate
        self.true: BranchContext
        self.false: BranchContext
        self.true = BranchContext(self, True, None if mirrors is None else mirrors.true)
        self.false = BranchContext(self, False, None if mirrors is None else mirrors.false)

    def merge(self, false: list[Output], true: list[Output]) -> list[Output]:
        """The results of the branch that runs, outside of both."""
        merged = []
        for pair in zip(false, true, strict=True):
            with self.true.on_the_border():
                merged.append(ops.merge(list(pair), name="Merge")[0])
            belongs(merged[-1].op, None, self.true.outer)
        return merged
