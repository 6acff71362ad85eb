"""`while_loop`: a body that runs again as long as a condition holds."""

from collections.abc import Callable, Sequence
from typing import Any

from qanat.control_flow import nest
from qanat.control_flow.leaves import Leaves
from qanat.control_flow.while_context import WhileContext, check_invariant
from qanat.control_flow.while_gradient import WhileConstruct
from qanat.core.constants import describe
from qanat.core.dtypes import bool_, int32
from qanat.core.graph import Output, convert_to_tensor, get_default_graph, name_scope
from qanat.core.shapes import SCALAR, TensorShape, as_shape
from qanat.ops import logical_and


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` while `cond` is true.

        i, total = qn.while_loop(lambda i, t: i < 10, lambda i, t: (i + 1, t + i), [0, 0])

    Each iteration computes new values of the loop variables from the old ones. Iterations may
    overlap: one begins as soon as the values that it needs are there. Whatever else `cond` and
    `body` use from outside is the same in every iteration. Control dependencies around the loop are
    those of the loop as a whole; those within hold within an iteration. Gradients pass through the
    loop variables and through what is used from outside. Source: Yu et al., "Dynamic control flow
    in large-scale machine learning" (EuroSys 2018), sections 4 and 5.

    Args:
        cond: a function of the loop variables that gives a scalar bool.
        body: a function of the loop variables that gives as many, of the same structure, dtypes and
            shapes.
        loop_vars: a list or tuple of what the loop begins with: values, TensorArrays, and lists,
            tuples and dicts of them.
        shape_invariants: in the structure of `loop_vars`, the shape that holds of all values of
        each
            (None in a shape for a size that changes); by default that of the first.
        parallel_iterations: how many iterations may be under way at once.
        back_prop: whether gradients pass through.
        swap_memory: has no effect on CPUs.
        name: of the scope; "while" if not given.
        maximum_iterations: a scalar integer, after how many iterations it ends in any case.
        return_same_structure: whether a single variable comes back in a list, too.

    Returns:
        The variables' values after the last iteration, in the structure of `loop_vars`; where it is
        one variable, that alone.

    Raises:
        TypeError, ValueError: the functions do not give what they should; the message names the
            line that made it.
    """
    if not callable(cond) or not callable(body):
        raise TypeError("[while_loop] expected cond and body to be functions")
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise TypeError(
            f"[while_loop] loop_vars: expected a list or tuple of one or more, got "
            f"{describe(loop_vars)}"
        )
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError(
            "[while_loop] parallel_iterations: expected a positive int, got "
            f"{parallel_iterations!r}"
        )
    if maximum_iterations is not None:
        return _limited(
            cond, body, loop_vars, shape_invariants, parallel_iterations, back_prop, name,
            maximum_iterations, return_same_structure,
        )  # fmt: skip
    with name_scope(name, "while") as scope:
        loop = _Loop(scope, loop_vars, shape_invariants, parallel_iterations)
        results = loop.build(cond, body, back_prop)
    if len(results) == 1 and not return_same_structure:
        return results[0]
    return results


def _limited(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    shape_invariants: Any,
    parallel_iterations: int,
    back_prop: bool,
    name: str | None,
    limit: Any,
    return_same_structure: bool,
) -> Any:
    """The loop with a variable more, that counts."""
    limit = convert_to_tensor(limit, name="maximum_iterations")
    if limit.shape.rank not in (None, 0) or limit.dtype is not int32:
        raise ValueError(f"[while_loop] maximum_iterations: expected a scalar int32, got {limit!r}")
    counted = while_loop(
        lambda i, rest: logical_and(i < limit, cond(*rest)),
        lambda i, rest: (i + 1, _as_sequence(body(*rest), rest)),
        (0, loop_vars),
        None if shape_invariants is None else (SCALAR, shape_invariants),
        parallel_iterations,
        back_prop,
        name=name,
    )
    results = counted[1]
    if len(results) == 1 and not return_same_structure:
        return results[0]
    return results


def _as_sequence(results: Any, loop_vars: Any) -> Any:
    """What a body gives, in a list even where it is one variable."""
    if not isinstance(results, (list, tuple)) or (
        len(loop_vars) == 1 and not nest.same_structure(results, loop_vars)
    ):
        return [results]
    return results


class _Loop:
    def __init__(
        self, scope: str, loop_vars: Any, invariants: Any, parallel_iterations: int
    ) -> None:
        self.structure = loop_vars
        self.leaves = Leaves(loop_vars, "while_loop")
        graph = get_default_graph()
        self.context = WhileContext(graph, scope, parallel_iterations)
        for value, shape in zip(self.leaves.outputs, self._invariants(invariants), strict=True):
            self.context.variables.append(self.context.begin(value, shape))

    def build(self, cond: Callable[..., Any], body: Callable[..., Any], back_prop: bool) -> Any:
        context = self.context
        graph = context.graph
        with graph.within(context), context.named():
            predicate = convert_to_tensor(self._call(cond, [v.merge for v in context.variables]))
            if predicate.dtype is not bool_ or predicate.shape.rank not in (None, 0):
                raise TypeError(
                    f"[while_loop] {context.where}: expected cond to give a scalar bool, got "
                    f"{predicate!r}, made at {predicate.op.user_line}"
                )
            predicate = context.capture_one(predicate)
        context.decide(predicate)
        with graph.within(context), context.named():
            given = self._call(body, [v.body for v in context.variables])
            new = Leaves(self._checked(given), "while_loop", like=self.leaves)
            values = [context.capture_one(value) for value in new.outputs]
        results = []
        for variable, value in zip(context.variables, values, strict=True):
            check_invariant(variable, value, context.where)
            results.append(context.close(variable, value))
        self._note(results, back_prop)
        return new.pack(self.structure, results)

    def _call(self, function: Callable[..., Any], values: list[Any]) -> Any:
        return function(*self.leaves.pack(self.structure, values))

    def _checked(self, given: Any) -> Any:
        results = _as_sequence(given, self.structure)
        if not nest.same_structure(results, self.structure):
            raise ValueError(
                f"[while_loop] {self.context.where}: expected the body to give the structure of "
                f"loop_vars, {describe(self.structure)}, got {describe(given)}"
            )
        return results

    def _invariants(self, invariants: Any) -> list[TensorShape]:
        shapes = [value.shape for value in self.leaves.outputs]
        if invariants is None:
            return shapes
        given = _flatten_shapes(self.structure, invariants)
        for value, shape in zip(self.leaves.outputs, given, strict=True):
            if not _holds(shape, value.shape):
                raise ValueError(
                    f"[while_loop] shape_invariants: expected a shape that holds of {value!r}, got "
                    f"{shape}"
                )
        return given

    def _note(self, results: list[Output], back_prop: bool) -> None:
        construct = WhileConstruct(self.context, results) if back_prop else None
        for result in results:
            result.op.construct = construct


def _flatten_shapes(structure: Any, shapes: Any) -> list[TensorShape]:
    """The shapes in the order of the leaves of a structure; a shape may itself be a list."""
    if isinstance(structure, dict):
        return [
            shape
            for key in sorted(structure)
            for shape in _flatten_shapes(structure[key], shapes[key])
        ]
    if isinstance(structure, (list, tuple)):
        if not isinstance(shapes, (list, tuple)) or len(shapes) != len(structure):
            raise ValueError(
                f"[while_loop] shape_invariants: expected the structure of loop_vars, got "
                f"{describe(shapes)}"
            )
        return [
            shape
            for part, of_part in zip(structure, shapes, strict=True)
            for shape in _flatten_shapes(part, of_part)
        ]
    return [as_shape(shapes)]


def _holds(invariant: TensorShape, shape: TensorShape) -> bool:
    if invariant.dims is None:
        return True
    if shape.dims is None or len(shape.dims) != len(invariant.dims):
        return False
    return all(i is None or i == s for i, s in zip(invariant.dims, shape.dims, strict=True))
