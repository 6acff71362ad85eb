"""A loop in the making: variables that circulate, and the predicate that decides whether they go
on.

Each variable is a set of nodes of its own, so that variables advance independently:

    Enter -> Merge -> Switch -> (cond is true) body -> NextIteration -> Merge
                             -> (cond is false) Exit
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qanat.control_flow.contexts import Context, belongs
from qanat.control_flow.handles import beside
from qanat.core.base_ops import constant, identity
from qanat.core.errors import ShapeError, located
from qanat.core.graph import Graph, Operation, Output
from qanat.core.op_def import Role
from qanat.core.shapes import SCALAR, TensorShape
from qanat.ops import control_flow as ops
from qanat.ops import stacks


@dataclass
class LoopVariable:
    """Something that each iteration of a loop changes.

    Attributes:
        initial: its value before the loop, as it is in the context around it.
        merge: its value at the beginning of an iteration.
        body: its value in the body, alive in all iterations but the last.
        next: what the body gives for the next iteration.
        result: its value after the loop, outside of it.
    """

    initial: Output
    merge: Output
    body: Output | None = None
    next: Output | None = None
    result: Output | None = None


class WhileContext(Context):
    """A loop.

    Attributes:
        variables: those of the user, or of the gradient.
        counter: what counts iterations for the gradient's sake, if anything does.
    """

    kind = "loop"

    def __init__(
        self,
        graph: Graph,
        scope: str,
        parallel_iterations: int,
        mirrors: "WhileContext | None" = None,
    ) -> None:
        super().__init__(graph, scope, mirrors)
        self.loop = self
        self.parallel_iterations = parallel_iterations
        self.variables: list[LoopVariable] = []
        self.counter: LoopVariable | None = None
        self._condition: Output | None = None
        self._pivot: Operation | None = None
        self._in_order: Operation | None = None
        self._stacks: dict[Output, Output] = {}

    # Building, in this order: begin, decide, (the body), close.

    def begin(self, initial: Output, shape: TensorShape) -> LoopVariable:
        """A new variable.

        Args:
            initial: its first value.
            shape: what holds of all its values.
        """
        if self.outer is not None:
            initial = self.outer.capture_one(initial)
        merge = self._merged(initial, shape)
        variable = LoopVariable(initial, merge)
        if self._pivot is None:
            self._pivot = merge.op
        if self._condition is not None:
            self._split(variable)
        return variable

    def decide(self, predicate: Output) -> None:
        """Says what decides whether the body runs once more."""
        with self.graph.within(self), self.named():
            self._condition = ops.loop_cond(predicate, name="LoopCond")
        for variable in self.variables:
            self._split(variable)
        self._pivot = None

    def close(self, variable: LoopVariable, value: Output) -> Output:
        """Says what the body makes of a variable.

        Returns:
            Its value after the loop.
        """
        with self.graph.within(self), self.named():
            variable.next = self.capture_one(value)
            sent = ops.next_iteration(variable.next, name="NextIteration")
        variable.merge.op._update_input(1, sent)
        assert variable.result is not None
        return variable.result

    def add(
        self, initial: Output, shape: TensorShape, step: Callable[[Output], Output]
    ) -> LoopVariable:
        """One more variable of a loop that is complete; `step` makes its next value in the body."""
        variable = self.begin(initial, shape)
        assert variable.body is not None
        with self.graph.within(self), self.named():
            value = step(variable.body)
        self.close(variable, value)
        return variable

    def _merged(self, initial: Output, shape: TensorShape) -> Output:
        entered = self._enter(initial, is_constant=False)
        entered.set_shape(shape)
        with self.on_the_border():
            merge = ops.merge([entered, entered], name="Merge")[0]
        belongs(merge.op, None, self)
        return merge

    def _enter(self, value: Output, is_constant: bool) -> Output:
        outer = value if self.outer is None else self.outer.capture_one(value)
        with self.around(), beside(outer):
            entered: Output = ops.enter(
                outer,
                frame_name=self._scope + "while_context",
                is_constant=is_constant,
                parallel_iterations=self.parallel_iterations,
                name="Enter",
            )
        belongs(entered.op, self.outer, self)
        return entered

    def _split(self, variable: LoopVariable) -> None:
        with self.on_the_border():
            after, body = ops.switch(variable.merge, self._condition, name="Switch")
            result = ops.exit_op(after, name="Exit")
        belongs(after.op, None, self)
        belongs(result.op, None, self.outer)
        variable.body, variable.result = body, result

    # As a context.

    def pivot(self) -> Operation:
        if self._pivot is None:  # the body's: one of its variables
            with self.graph.within(self), self.named():
                self._pivot = identity(self.variables[0].body, name="pivot").op
        return self._pivot

    def is_way_in(self, op: Operation) -> bool:
        return op.op_def.role is Role.ENTER and bool(op.get_attr("is_constant"))

    def _is_free(self, value: Output) -> bool:
        return self.is_way_in(value.op) or value.op.type == "Const"

    def _bring_in(self, value: Output) -> Output:
        return self._enter(value, is_constant=True)

    # For the gradient.

    def count(self) -> Output:
        """How often the body runs, outside of the loop. All that the body leaves on stacks is there
        once this is known."""
        if self.counter is None:
            with self.around():
                zero = constant(0, name="zero")
            belongs(zero.op, self.outer, self.outer)
            self.counter = self.add(zero, SCALAR, lambda i: self.ordered_step(i, 1))
        assert self.counter.result is not None
        return self.counter.result

    def ordered_step(self, counter: Output, by: int) -> Output:
        """The next value of a counter, once all stacks are done with in this iteration."""
        self._in_order = ops.control_trigger(name="in_order")
        with self.graph.control_dependencies([self._in_order]):
            stepped: Output = counter + by
        return stepped

    def order(self, op: Operation, counter: Output) -> None:
        """Makes an operation run between the counter's last step and its next."""
        assert self._in_order is not None
        op._add_control_inputs([counter.op])
        self._in_order._add_control_inputs([op])

    def recall_by_stack(self, value: Output, at: Context) -> Output:
        forward = self.mirrors
        assert isinstance(forward, WhileContext) and self.counter is not None
        owner: Any = value.op.control_flow
        handle = forward.stack_of(value, owner)
        with self.graph.within(at), at.named(), beside(handle):
            popped: Output = stacks.stack_pop_v2(handle, elem_type=value.dtype, name="Pop")
        popped.set_shape(value.shape)
        popped.handle_data = value.handle_data
        assert self.counter.body is not None
        self.order(popped.op, self.counter.body)
        return popped

    def stack_of(self, value: Output, owner: Context) -> Output:
        """The handle, outside of the loop, of a stack that each iteration puts `value` on."""
        handle = self._stacks.get(value)
        if handle is None:
            self.count()
            assert self.counter is not None and self.counter.body is not None
            with self.around(), beside(value):
                handle = stacks.stack_v2(-1, elem_type=value.dtype, name="Stack")
            assert handle is not None
            for op in (handle.op, handle.op.inputs[0].op):
                belongs(op, self.outer, self.outer)
            with self.graph.within(owner), owner.named(), beside(handle):
                pushed: Output = stacks.stack_push_v2(handle, value, name="Push")
            self.order(pushed.op, self.counter.body)
            self._stacks[value] = handle
        return handle


def check_invariant(variable: LoopVariable, value: Output, where: str) -> None:
    """
    Raises:
        TypeError: what the body makes of a variable has another dtype.
        ShapeError: it has a shape that does not hold of the variable.
    """
    made = f"made at {value.op.user_line}"
    if value.dtype is not variable.merge.dtype:
        raise TypeError(
            f"[while_loop] {where}: expected the body to keep the dtype {variable.merge.dtype} of "
            f"{variable.initial.name!r}, got {value!r}, {made}; qn.cast changes types"
        )
    known = variable.merge.shape
    if known.dims is None:
        return
    got = value.shape.dims
    fits = got is not None and len(got) == len(known.dims)
    if fits and all(k is None or k == g for k, g in zip(known.dims, got or (), strict=True)):
        return
    raise ShapeError(
        located(
            f"{where}: expected a shape that holds of all iterations, got one that changes: "
            f"{variable.initial.name!r} begins with {known} and is {value.shape} after one "
            f"iteration ({value.name!r}, {made}). Say so with shape_invariants, or keep the shape "
            "with set_shape",
            "while_loop",
        )
    )
