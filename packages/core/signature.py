"""What an op is: its inputs, attributes, outputs and rules. One OpDef an op, in one registry.

An argument's dtype is fixed ("int32"), a type attr ("T"), or for a list of arguments "N * T" (N of
one type) or a list-of-types attr ("Tlist").
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from qanat.core import dtypes
from qanat.core.attrs import REQUIRED, AttrDef
from qanat.core.dtypes import DType
from qanat.core.shapes import SCALAR, UNKNOWN, TensorShape

if TYPE_CHECKING:
    from qanat.core.operation import Output


class Role(Enum):
    """What an op is to the engine, which knows none by name. The values are TensorFlow's names.

    SWITCH sends its value to one of two outputs, and a dead token to the other; MERGE gives on the
    first live value that comes; ENTER, EXIT and NEXT_ITERATION bring values into a loop, out of it
    and to its next iteration; LOOP_COND is the predicate of a loop; CONTROL_TRIGGER runs whatever
    of what it waits for is dead.
    """

    NONE = ""
    SWITCH = "Switch"
    MERGE = "Merge"
    ENTER = "Enter"
    EXIT = "Exit"
    NEXT_ITERATION = "NextIteration"
    LOOP_COND = "LoopCond"
    CONTROL_TRIGGER = "ControlTrigger"


@dataclass(frozen=True, slots=True)
class ArgDef:
    """An input or output; exactly one of `dtype`, `type_attr` and `type_list_attr` is set.

    Attributes:
        number_attr: the attr that counts the elements, where this is a list of one type.
    """

    name: str
    dtype: DType | None = None
    type_attr: str | None = None
    number_attr: str | None = None
    type_list_attr: str | None = None

    @property
    def is_list(self) -> bool:
        return self.number_attr is not None or self.type_list_attr is not None

    def dtypes(self, attrs: Mapping[str, Any]) -> list[DType]:
        """The type of each element, given all attrs of a node."""
        if self.type_list_attr is not None:
            return list(attrs[self.type_list_attr])
        one: Any = self.dtype if self.type_attr is None else attrs[self.type_attr]
        return [one] * (1 if self.number_attr is None else attrs[self.number_attr])

    def __str__(self) -> str:
        if self.type_list_attr is not None:
            return f"{self.name}: {self.type_list_attr}"
        one = self.type_attr or str(self.dtype)
        return (
            f"{self.name}: {self.number_attr} * {one}"
            if self.number_attr
            else f"{self.name}: {one}"
        )


class Handle(NamedTuple):
    """What a shape function returns for a `resource` output: a scalar handle to what?

    Attributes:
        dtype: of the value behind the handle.
        shape: of that value, as far as it is known.
        components: of a queue, whose values are tuples: what each component is.
    """

    dtype: DType
    shape: TensorShape
    components: "tuple[Handle, ...]" = ()


Shapes = Sequence[TensorShape | Handle]
Grads = Sequence["Output | None"]
# What a static value function returns: the value, a vector known in part, or nothing.
StaticValue = np.ndarray[Any, Any] | TensorShape | None


class In:
    """An input as a shape function sees it.

    Attributes:
        dtype: its type.
        output: the Output itself.
        shape: its static shape, of unknown rank at worst.
    """

    __slots__ = ("dtype", "output", "shape")

    def __init__(self, output: "Output") -> None:
        self.output = output
        self.dtype: DType = output.dtype
        self.shape: TensorShape = output._shape

    @property
    def value(self) -> np.ndarray[Any, Any] | None:
        """The value, if it is the same in every step and cheap to know; read-only."""
        value: Any = static_value(self.output)
        if isinstance(value, TensorShape):
            known = value.is_fully_defined()
            value = np.array(value.dims, self.dtype.as_numpy) if known else None
        return value

    def value_as_shape(self) -> TensorShape:
        """The value of a vector of sizes as a shape, with None for what is not known; -1 is
        unknown.

        Raises:
            ShapeError: the input is no vector of integers, or holds sizes below -1.
        """
        self.shape.with_rank(1)
        value = static_value(self.output)
        if isinstance(value, TensorShape):
            return value
        if value is not None:
            return TensorShape(tuple(int(size) for size in value))
        length = self.shape[0]
        return UNKNOWN if length is None else TensorShape((None,) * length)

    @property
    def handle(self) -> Handle | None:
        """What a resource input refers to; None if unknown or no resource."""
        return self.output.handle_data

    @property
    def handle_dtype(self) -> DType | None:
        return None if self.handle is None else self.handle.dtype

    @property
    def handle_shape(self) -> TensorShape:
        return UNKNOWN if self.handle is None else self.handle.shape


@dataclass(eq=False, slots=True)
class OpDef:
    """The meaning of an op. Made by `@op`.

    Attributes:
        inputs, outputs: in order.
        attrs: by name, the inferred ones too.
        shape_fn: called as `shape_fn(*inputs, **attrs)`; each input an In, or a list of them.
        gradient: called as `gradient(op, *grads)`; None if there is none.
        static_value: called as shape_fn is, gives the value of each output where it is known.
        stateful: never merged with another node and never folded.
        differentiable: False where no gradient is meant to exist.
        pointwise: whether an element of the output depends on the elements in its place alone.
        role: what it is to the engine, where it directs the flow of others' values.
    """

    name: str
    inputs: tuple[ArgDef, ...]
    outputs: tuple[ArgDef, ...]
    attrs: dict[str, AttrDef]
    shape_fn: Callable[..., Any]
    doc: str = ""
    stateful: bool = False
    differentiable: bool = True
    pointwise: bool = False
    role: Role = Role.NONE
    gradient: Callable[..., Any] | None = None
    static_value: Callable[..., Any] | None = None
    parameters: tuple[str, ...] = ()
    has_lists: bool = False
    defaults: dict[str, Any] = field(default_factory=dict)
    # By argument: (fixed dtype, type attr, allowed dtypes); None where a list is among them.
    plain_inputs: tuple[tuple[Any, Any, Any], ...] | None = None
    plain_outputs: tuple[tuple[Any, Any, Any], ...] | None = None

    def __post_init__(self) -> None:
        given = [attr for attr in self.attrs.values() if not attr.inferred]
        self.parameters = tuple(
            name
            for name in self.shape_fn.__code__.co_varnames[: _parameter_count(self.shape_fn)]
            if name in self.attrs
        )
        self.has_lists = any(arg.is_list for arg in self.inputs)
        self.plain_inputs = self._plain(self.inputs)
        self.plain_outputs = self._plain(self.outputs)
        self.defaults = {attr.name: attr.default for attr in given if attr.default is not REQUIRED}

    def _plain(self, args: Sequence[ArgDef]) -> tuple[tuple[Any, Any, Any], ...] | None:
        if any(arg.is_list for arg in args):
            return None
        return tuple(
            (arg.dtype, arg.type_attr, self.attrs[arg.type_attr].allowed if arg.type_attr else None)
            for arg in args
        )

    def output_dtypes(self, attrs: Mapping[str, Any]) -> list[DType]:
        """The types of all outputs, lists spread out."""
        if self.plain_outputs is not None:
            return [fixed or attrs[attr] for fixed, attr, _ in self.plain_outputs]
        return [dtype for arg in self.outputs for dtype in arg.dtypes(attrs)]

    def arguments(self, inputs: Sequence["Output"], attrs: Mapping[str, Any]) -> list[Any]:
        """The inputs of a node as shape functions take them: an In, or a list of them, each."""
        if not self.has_lists:
            return [In(output) for output in inputs]
        arguments: list[Any] = []
        rest = iter(inputs)
        for arg in self.inputs:
            count = len(arg.dtypes(attrs))
            group = [In(next(rest)) for _ in range(count)]
            arguments.append(group if arg.is_list else group[0])
        return arguments

    def infer_shapes(
        self, inputs: Sequence["Output"], attrs: Mapping[str, Any]
    ) -> list[TensorShape | Handle]:
        """The static shapes of a node's outputs.

        Raises:
            ShapeError: the inputs do not fit.
        """
        if not self.parameters:
            return self.shape_fn(*self.arguments(inputs, attrs))
        given = {name: attrs[name] for name in self.parameters}
        return self.shape_fn(*self.arguments(inputs, attrs), **given)

    def __str__(self) -> str:
        """The signature: MatMul(a: T, b: T, *, transpose_a: bool=False) -> product: T."""
        shown = [str(arg) for arg in self.inputs]
        given = [attr for attr in self.attrs.values() if not attr.inferred]
        if given:
            shown.append("*")
        for attr in given:
            default = "" if attr.default is REQUIRED else f"={attr.default!r}"
            shown.append(f"{attr.name}: {attr.kind}{default}")
        results = ", ".join(map(str, self.outputs)) or "nothing"
        return f"{self.name}({', '.join(shown)}) -> {results}"


def _parameter_count(function: Callable[..., Any]) -> int:
    code = function.__code__
    return int(code.co_argcount + code.co_kwonlyargcount)


def static_value(output: "Output") -> StaticValue:
    """The value of an output where it is the same in every step: an array, or a vector known in
    part as a TensorShape; None where it is not known."""
    op = output.op
    function = op.op_def.static_value
    if function is None:
        return None
    given = {name: op._attrs[name] for name in op.op_def.parameters}
    return function(*op.op_def.arguments(op.inputs, op._attrs), **given)


def output_handle(result: TensorShape | Handle) -> tuple[TensorShape, Handle | None]:
    """A shape function's result as (shape of the output, what its handle refers to)."""
    return (SCALAR, result) if type(result) is Handle else (result, None)  # type: ignore[return-value]


_registry: Final[dict[str, OpDef]] = {}


def register(op_def: OpDef) -> None:
    """Adds an op to the registry.

    Raises:
        ValueError: another op has the name.
    """
    if op_def.name in _registry:
        raise ValueError(f"[{op_def.name}] expected a new op, got one that is defined already")
    _registry[op_def.name] = op_def


def lookup(name: str) -> OpDef:
    """The op of that name.

    Raises:
        KeyError: no imported module defines it.
    """
    try:
        return _registry[name]
    except KeyError:
        near = get_close_matches(name, _registry, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise KeyError(
            f"no op {name!r} is defined; import the package that defines it{hint}"
        ) from None


def registered() -> Iterator[OpDef]:
    """Every op defined so far, by name."""
    return iter(sorted(_registry.values(), key=lambda op_def: op_def.name))


def is_registered(name: str) -> bool:
    return name in _registry


def accepted_dtypes(op_def: OpDef, attr: str) -> str:
    """The dtypes a type attr accepts, for messages."""
    allowed = op_def.attrs[attr].allowed
    return dtypes.names(dtypes.ALL if allowed is None else allowed)
