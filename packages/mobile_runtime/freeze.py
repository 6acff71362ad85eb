"""From a trained graph to one for inference: variables become constants, all shapes known.

The graph is made anew, operation by operation, of what the outputs need. Knowing every shape, the
shape functions also know values (of `Shape` and its like), and whatever is computed from constants
alone is computed here. What only training needs is left out: control inputs, the other branch of a
`cond` or `select` whose predicate is a constant, the ops that only hold gradients back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from qanat.core import signature
from qanat.core.constants import describe, to_array
from qanat.core.dtypes import as_dtype
from qanat.core.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    OpError,
    ShapeError,
    UnimplementedError,
    located,
)
from qanat.core.graph import Graph, Operation, Output
from qanat.core.op_def import OpDef, Role, lookup
from qanat.core.ordering import postorder
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import StepGraph
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.core.shapes import TensorShape, merge

Array = np.ndarray[Any, Any]

# Ops that give their inputs on.
_PASS_ON: Final = frozenset(
    {"Identity", "IdentityN", "PlaceholderWithDefault", "PreventGradient", "StopGradient"}
)
# Ops that make values out of nothing, and are what they are.
_SOURCES: Final = frozenset({"Const", "Placeholder"})
_READ: Final = "ReadVariableOp"
_LOOP_ROLES: Final = frozenset({Role.ENTER, Role.EXIT, Role.NEXT_ITERATION, Role.LOOP_COND})


class TensorReader(Protocol):
    """A checkpoint, such as `qn.train.load_checkpoint` opens: values by the variables' names."""

    def has_tensor(self, tensor_str: str, /) -> bool: ...
    def get_tensor(self, tensor_str: str, /) -> Array: ...


Variables = Session | TensorReader


@dataclass(frozen=True)
class Frozen:
    """An inference graph.

    Attributes:
        step: its feeds and fetches are in the order of `inputs` and `outputs`.
        inputs, outputs: their public names.
    """

    step: StepGraph
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def freeze(
    variables: Variables,
    inputs: Mapping[str, Output],
    outputs: Mapping[str, Output],
    *,
    batch_size: int = 1,
    fixed: Mapping[Output, Any] | None = None,
) -> Frozen:
    """What the outputs need, with static shapes and without variables.

    Args:
        variables: who has the values: a session, or the reader of a checkpoint.
        inputs: what is given to each run, by public names.
        outputs: what each run gives, by public names.
        batch_size: stands for the first dimension of inputs where it is not known.
        fixed: values of other placeholders, the same in each run ({training: False}).

    Raises:
        TypeError: inputs or outputs are no map from names to Outputs.
        ValueError: nothing is asked for, or two inputs are one.
        ShapeError: an input's shape is unknown but for its first dimension, or shapes do not fit.
        InvalidArgumentError: a placeholder is needed that is neither an input nor fixed.
        FailedPreconditionError: a variable has no value.
        UnimplementedError: a needed op has state, is a loop, or a branch that each run decides.
    """
    _require_named("inputs", inputs)
    _require_named("outputs", outputs)
    if not outputs:
        raise ValueError("[export] expected at least one output, got none")
    if len(set(inputs.values())) != len(inputs):
        raise ValueError(f"[export] expected inputs that differ, got {_names(inputs.values())}")
    maker = _Maker(variables)
    for output in inputs.values():
        maker.add_input(output, batch_size)
    for output, value in (fixed or {}).items():
        maker.add_fixed(output, value)
    fetches = maker.make(list(outputs.values()))
    feeds = [maker.made(output) for output in inputs.values()]
    _check_needed(feeds, fetches)
    return Frozen(prune(feeds, fetches, ()), tuple(inputs), tuple(outputs))


def _require_named(what: str, given: Any) -> None:
    named = isinstance(given, Mapping) and all(
        isinstance(name, str) and isinstance(output, Output) for name, output in given.items()
    )
    if not named:
        raise TypeError(
            f"[export] expected {what} as a map from names to Outputs, such as {{'x': x}}, got "
            f"{describe(given)}"
        )


class _Maker:
    """Makes the operations of another graph anew."""

    def __init__(self, variables: Variables) -> None:
        self._graph = Graph()
        self._variables = variables
        # None stands for an output of a branch that is never taken.
        self._made: dict[Output, Output | None] = {}

    def made(self, output: Output) -> Output:
        """What stands for an output that is alive."""
        made = self._made[output]
        if made is None:
            raise _error(
                InvalidArgumentError,
                output.op,
                f"expected outputs that are computed, got '{output.name}' of a branch that is "
                "never taken",
            )
        return made

    def add_input(self, output: Output, batch_size: int) -> None:
        dims = output.shape.dims
        if dims and dims[0] is None:
            dims = (batch_size, *dims[1:])
        shape = TensorShape(dims)
        if not shape.is_fully_defined():
            raise _error(
                ShapeError,
                output.op,
                "expected an input whose shape is known but for the first dimension, got "
                f"{output.shape}; set_shape adds what is known",
            )
        attrs = {"dtype": output.dtype, "shape": shape}
        self._made[output] = self._add(output.op, lookup("Placeholder"), (), attrs).outputs[0]

    def add_fixed(self, output: Output, value: Any) -> None:
        array = to_array(value, output.dtype)
        if not output.shape.is_compatible_with(array.shape):
            raise _error(
                ShapeError,
                output.op,
                f"expected a fixed value of shape {output.shape}, got {list(array.shape)}",
            )
        self._made[output] = self._constant(output.op, array)

    def make(self, outputs: Sequence[Output]) -> list[Output]:
        """Makes all that the outputs need; gives what stands for them."""
        roots = [output.op for output in outputs if output not in self._made]
        for op in postorder(roots, self._needs):
            if any(output not in self._made for output in op.outputs):
                self._remake(op)
        return [self.made(output) for output in outputs]

    def _needs(self, op: Operation) -> list[Operation]:
        if op.op_def.role in _LOOP_ROLES:
            raise _error(UnimplementedError, op, "expected no loop in a graph to export, got one")
        if op.type == _READ:
            return []
        inputs = [output.op for output in op.inputs if output not in self._made]
        return [*inputs, *_pivots(op)]

    def _remake(self, op: Operation) -> None:
        if op.type == _READ:
            self._made[op.outputs[0]] = self._constant(op, _value_of(self._variables, op))
            return
        given = [self._made[output] for output in op.inputs]
        results = self._without_it(op, given)
        if results is None:
            results = self._computed(op, [output for output in given if output is not None])
        for output, made in zip(op.outputs, results, strict=True):
            self._made.setdefault(output, made)

    def _without_it(
        self, op: Operation, given: Sequence[Output | None]
    ) -> Sequence[Output | None] | None:
        """The results of an operation that only passes one of its inputs on; None of another."""
        if op.op_def.role is Role.MERGE:
            return self._merged(op, given)
        if None in given or any(self._is_dead(pivot) for pivot in _pivots(op)):
            return [None] * len(op.outputs)
        if op.op_def.role is Role.SWITCH:
            taken = _constant_of(given[1])
            if taken is None:
                raise _error(
                    UnimplementedError,
                    op,
                    "expected a branch whose predicate is a constant, got one that each run "
                    "decides; `fixed` can make it one",
                )
            return [given[0], None] if not taken else [None, given[0]]
        if op.type in _PASS_ON:
            return given
        if op.type == "Select":
            return self._selected(given)
        return None

    def _merged(self, op: Operation, given: Sequence[Output | None]) -> Sequence[Output | None]:
        live = [i for i, output in enumerate(given) if output is not None]
        if not live:
            return [None, None]
        if len(live) > 1:
            raise _error(UnimplementedError, op, "expected one branch that is taken, got several")
        return [given[live[0]], self._constant(op, np.array(live[0], np.int32))]

    def _is_dead(self, op: Operation) -> bool:
        dead = [self._made.get(output, output) is None for output in op.outputs]
        return bool(dead) and all(dead)

    @staticmethod
    def _selected(given: Sequence[Output | None]) -> Sequence[Output | None] | None:
        """The chosen side, where all elements are of one and its shape is that of the result."""
        chosen, if_true, if_false = given
        value = _constant_of(chosen)
        assert if_true is not None and if_false is not None
        if value is None or value.size == 0 or if_true.shape != if_false.shape:
            return None
        if value.all():
            return [if_true]
        return None if value.any() else [if_false]

    def _computed(self, op: Operation, inputs: Sequence[Output]) -> Sequence[Output]:
        """The results of an operation that is kept, or constants where they are known."""
        made = self._add(op, op.op_def, inputs, op._attrs)
        for old, new in zip(op.outputs, made.outputs, strict=True):
            new._shape = merge(new.shape, self._shape_of(old, new))
        if op.op_def.stateful or op.type in _SOURCES or not made.outputs:
            return made.outputs
        values = _known_values(made)
        if values is None:
            return made.outputs
        return [self._constant(op, np.asarray(value)) for value in values]

    @staticmethod
    def _shape_of(old: Output, new: Output) -> TensorShape:
        """What the user's set_shape said, unless it was for another batch size."""
        return old.shape if old.shape.is_compatible_with(new.shape) else TensorShape(None)

    def _add(
        self, op: Operation, op_def: OpDef, inputs: Sequence[Output], attrs: Mapping[str, Any]
    ) -> Operation:
        """A node in the place of `op`: named as it is, and from the same line of the user's."""
        kept = {name: value for name, value in attrs.items() if not name.startswith("_")}
        try:
            return self._graph.add_node(op_def, inputs, kept, f"{op.name}/", op._position)
        except (ShapeError, TypeError, ValueError) as error:
            kind = ShapeError if isinstance(error, ShapeError) else InvalidArgumentError
            raise _error(kind, op, str(error)) from None

    def _constant(self, op: Operation, value: Array) -> Output:
        value = np.ascontiguousarray(value).reshape(value.shape)
        value.flags.writeable = False
        attrs = {"value": value, "dtype": as_dtype(value.dtype)}
        return self._add(op, lookup("Const"), (), attrs).outputs[0]


def _pivots(op: Operation) -> list[Operation]:
    """What an operation of a branch waits for: it is dead where those are."""
    return [] if op.control_flow is None else list(op._control_inputs)


def _constant_of(output: Output | None) -> Array | None:
    if output is None or output.op.type != "Const":
        return None
    value: Array = output.op._attrs["value"]
    return value


def _known_values(op: Operation) -> Sequence[Array] | None:
    """What an operation gives, where that follows from shapes or from constants alone."""
    if len(op.outputs) == 1:
        known = signature.In(op.outputs[0]).value
        if known is not None:
            return [known]
    arrays = [array for array in map(_constant_of, op.inputs) if array is not None]
    return _evaluate(op, arrays) if len(arrays) == len(op.inputs) else None


def _evaluate(op: Operation, inputs: Sequence[Array]) -> list[Array]:
    """What an operation gives for these inputs."""
    graph = Graph()
    const = lookup("Const")
    given = [
        graph.add_node(const, (), {"value": value, "dtype": output.dtype}).outputs[0]
        for value, output in zip(inputs, op.inputs, strict=True)
    ]
    made = graph.add_node(op.op_def, given, op._attrs, f"{op.name}/", op._position)
    with Session(graph=graph, config=SessionConfig(threads=1)) as session:
        return list(session.run(list(made.outputs)))


def _handle_of(read: Operation) -> Operation:
    """The variable's own operation, where a read in a branch has its handle through a Switch."""
    made = read.inputs[0].op
    while made.op_def.role is Role.SWITCH or made.type == "Identity":
        made = made.inputs[0].op
    return made


def _plain_read(handle: Operation, read: Operation) -> Output:
    """A read that runs nothing else: what `read` waits for may be an update."""
    for user in handle.outputs[0].consumers():
        if user.type == _READ and not user.control_inputs:
            return user.outputs[0]
    message = f"expected a read of {handle.name!r} that waits for nothing, got none"
    raise _error(FailedPreconditionError, read, message)


def _value_of(variables: Variables, read: Operation) -> Array:
    """The value of the variable that an operation reads."""
    handle = _handle_of(read)
    if isinstance(variables, Session):
        return np.asarray(variables.run(_plain_read(handle, read)))
    name = handle.name
    if not variables.has_tensor(name):
        raise _error(
            FailedPreconditionError, read, f"expected the variable {name!r} in the checkpoint"
        )
    value = np.asarray(variables.get_tensor(name))
    output = read.outputs[0]
    if value.dtype != output.dtype.as_numpy or not output.shape.is_compatible_with(value.shape):
        raise _error(
            FailedPreconditionError,
            read,
            f"expected a value of {output.dtype}{output.shape} for the variable {name!r}, got one "
            f"of {value.dtype}{list(value.shape)}",
        )
    return value


def _check_needed(feeds: Sequence[Output], fetches: Sequence[Output]) -> None:
    """Raises where a needed operation cannot run on a phone, whatever kernels there are."""
    given = {output.op for output in feeds}
    ops = postorder([output.op for output in fetches], lambda op: [o.op for o in op.inputs])
    for op in ops:
        if op.type == "Placeholder" and op not in given:
            raise _error(
                InvalidArgumentError,
                op,
                f"expected '{op.outputs[0].name}', which the outputs need, among the inputs or the "
                "fixed values",
            )
        if op.op_def.stateful:
            raise _error(
                UnimplementedError, op, "expected ops without state in a graph to export, got one"
            )


def _error(kind: type[Exception], op: Operation, message: str) -> Exception:
    text = located(message, op.type, op.name, op.user_line)
    if issubclass(kind, OpError):
        return kind(text, op=op, node_name=op.name, user_line=op.user_line)
    return kind(text)


def _names(outputs: Iterable[Output]) -> str:
    return ", ".join(output.name for output in outputs)
