"""Branches and loops while they are built: what is in them, and how values come into them.

Every operation belongs to the innermost context that it was made in. What it uses from outside is
captured: a branch takes it in through a Switch, a loop through an Enter. A context that
differentiates another *mirrors* it, and captures what is inside of the other.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from qanat.core import user_line
from qanat.core.convert import constant_node
from qanat.core.errors import located
from qanat.core.graph import Graph, Operation, Output


class Context:
    """A branch or a loop.

    Attributes:
        graph: that it is in.
        outer: the context around it, or None.
        loop: the innermost loop around its operations, perhaps itself, or None.
        mirrors: the context that this one differentiates, or None.
    """

    kind = "context"

    def __init__(self, graph: Graph, scope: str, mirrors: "Context | None" = None) -> None:
        self.graph = graph
        self.mirrors = mirrors
        self._scope = scope
        self._surroundings = graph.surroundings()
        self._position = user_line.capture()
        self._captured: dict[Output, Output] = {}
        outer: Any = self._surroundings.flow
        self.outer: Context | None = outer
        self.loop: Context | None = None if outer is None else outer.loop

    @property
    def name(self) -> str:
        return self._scope.rstrip("/")

    @property
    def where(self) -> str:
        line = user_line.describe(self._position)
        return f"{self.kind} {self.name!r}" + (f", made at {line}" if line else "")

    def chain(self) -> "Iterator[Context]":
        """This context and those around it, the innermost first."""
        context: Context | None = self
        while context is not None:
            yield context
            context = context.outer

    # What the graph asks.

    def capture(self, inputs: Sequence[Output]) -> list[Output]:
        """What stands here for the inputs of a new operation."""
        return [self.capture_one(value) for value in inputs]

    def adopt(self, op: Operation) -> None:
        """Makes a new operation run when this context does: it waits for nothing outside of the
        loop and, if no input of it is alive here alone, for the pivot."""
        waits = [c for c in op._control_inputs if _loop_of(c) is self.loop]
        if all(map(self._is_free, op.inputs)):
            waits.append(self.pivot())
        op._control_inputs = tuple(dict.fromkeys(waits))

    # What kinds of contexts say.

    def pivot(self) -> Operation:
        """What is alive when this context is, and in nothing else."""
        raise NotImplementedError

    def is_way_in(self, op: Operation) -> bool:
        """Whether a value of this context is, whenever it is alive, one from outside."""
        raise NotImplementedError

    def _is_free(self, value: Output) -> bool:
        """Whether a value that may be used here is also alive where this context is dead."""
        raise NotImplementedError

    def _bring_in(self, value: Output) -> Output:
        """A new way in for a value of the context around this one."""
        raise NotImplementedError

    # Capturing.

    def ways_in(self) -> list[tuple[Output, Output]]:
        """What came in so far: (outside, here)."""
        return [
            (inner.op.inputs[0], inner)
            for inner in dict.fromkeys(self._captured.values())
            if self.is_way_in(inner.op)
        ]

    def capture_one(self, value: Output) -> Output:
        """What stands here for a value.

        Raises:
            ValueError: it is inside of a branch or loop that this is not in.
        """
        owner: Any = value.op.control_flow
        if owner is self:
            return value
        if value not in self._captured:
            self._captured[value] = self._captured_from(value, owner)
        return self._captured[value]

    def _captured_from(self, value: Output, owner: "Context | None") -> Output:
        if owner is None or owner in self.chain():
            outer = value if self.outer is None else self.outer.capture_one(value)
            return self._bring_in(outer)
        mirror = next((c for c in self.chain() if c.mirrors is owner), None)
        if mirror is None:
            raise ValueError(
                located(
                    f"expected a value that is alive in {self.where}, got {value!r} of "
                    f"{owner.where}: use what that returns",
                    value.op.type,
                    value.op.name,
                    value.op.user_line,
                )
            )
        if mirror is self:
            return self.recall(value)
        assert self.outer is not None  # the mirror is further out
        return self._bring_in(self.outer.capture_one(value))

    def recall(self, value: Output) -> Output:
        """A value of the context that this one mirrors, as it was when that one ran."""
        mirrored = self.mirrors
        assert mirrored is not None
        if value.op.type == "Const":
            return self._repeated(value)
        if self.loop is mirrored.loop:
            return value
        if mirrored.is_way_in(value.op):
            return self.capture_one(value.op.inputs[0])
        assert self.loop is not None
        return self.loop.recall_by_stack(value, self)

    def recall_by_stack(self, value: Output, at: "Context") -> Output:
        """As `recall`, for a value of a loop, whose iterations run again in reverse."""
        raise NotImplementedError

    def _repeated(self, constant: Output) -> Output:
        with self.graph.within(self), self.named():
            return constant_node(self.graph, constant.op.get_attr("value"), "Const")

    def named(self) -> AbstractContextManager[str]:
        """The name scope of what belongs to this construct."""
        return self.graph.name_scope(self._scope)

    @contextmanager
    def around(self) -> Iterator[None]:
        """Makes operations of the place where this construct is, which wait for what it waits for
        and belong to no context yet: `belongs` says which."""
        outside = self._surroundings._replace(flow=None)
        with self.graph.surrounded_by(outside), self.named():
            yield

    @contextmanager
    def on_the_border(self) -> Iterator[None]:
        """As `around`, for operations that have an input of this construct and wait for nothing."""
        with self.graph.within(None), self.named():
            yield


def belongs(op: Operation, inputs_of: Context | None, outputs_of: Context | None) -> Operation:
    """Says where an operation on the border of a context gets its inputs and has its outputs."""
    if inputs_of is not None:
        inputs_of.adopt(op)
    op.control_flow = outputs_of
    return op


def _loop_of(op: Operation) -> Context | None:
    context: Any = op.control_flow
    return None if context is None else context.loop
