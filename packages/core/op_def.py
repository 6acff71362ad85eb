"""How an op is defined: `@op` reads a Python function's signature; its body is the shape function.

    T = Annotated[In, "T"]

    @op("MatMul", outputs="product: T", T=dtypes.FLOATING | dtypes.COMPLEX)
    def matmul(a: T, b: T, *, transpose_a: bool = False) -> Shapes:
        '''Matrix product of two matrices.'''
        ...

    @matmul.gradient
    def _(op: Operation, grad: Output) -> Grads: ...

`packages/README.md` has the whole contract.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from qanat.core import signature, user_line
from qanat.core.attrs import REQUIRED, AttrDef, scalar_kind
from qanat.core.constants import describe, to_array
from qanat.core.convert import constant_node, converted
from qanat.core.default_graph import get_default_graph
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import raise_located
from qanat.core.operation import Operation, Output
from qanat.core.signature import (
    ArgDef,
    Grads,
    Handle,
    In,
    OpDef,
    Role,
    Shapes,
    lookup,
    registered,
)

if TYPE_CHECKING:
    from qanat.core.graph import Graph

__all__ = [
    "Grads",
    "Handle",
    "In",
    "OpBuilder",
    "OpDef",
    "Operation",
    "Output",
    "Role",
    "Shapes",
    "lookup",
    "op",
    "registered",
]


class OpBuilder:
    """The callable that `@op` makes of a function: it adds a node to the graph.

    Takes the op's inputs, positionally or by name, its attributes by name, and `name` for the node,
    which may follow the inputs where there are no attributes.
    Gives the Output, a list of them where there are several or their number varies, or the
    Operation where there are none.

    Attributes:
        op_def: what was defined.
    """

    def __init__(self, op_def: OpDef, function: Callable[..., Any]) -> None:
        self.op_def = op_def
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__signature__ = _public_signature(function)
        outputs = op_def.outputs
        self._one_output = len(outputs) == 1 and not outputs[0].is_list

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        op_def = self.op_def
        try:
            if len(args) != len(op_def.inputs):
                if name is None and _ends_with_name(op_def, args):
                    *args, name = args  # type: ignore[assignment]
                args, kwargs = _bind_by_name(op_def, args, kwargs)
            attrs = dict(op_def.defaults)
            for key, value in kwargs.items():
                attrs[key] = _attr(op_def, key).check(value)
            if len(attrs) < len(op_def.parameters):
                _fail_missing(op_def, attrs)
            graph = _bind_outputs(op_def, args, attrs)
            inputs: Sequence[Output] = args
            if graph is None:
                graph, inputs, name = _inputs(op_def, args, attrs, name)
            node = graph.add_node(op_def, inputs, attrs, name, user_line.capture())
        except (TypeError, ValueError, MemoryError) as error:
            if str(error).startswith("["):
                raise
            position = user_line.describe(user_line.capture())
            raise_located(error, op_def.name, _name_to_be(name or op_def.name), position)
        if self._one_output:
            return node.outputs[0]
        return list(node.outputs) if op_def.outputs else node

    def gradient(self, function: Callable[..., Grads]) -> Callable[..., Grads]:
        """Decorator: `function(op, *grads)` gives a gradient an input, None for none.

        Raises:
            ValueError: the op has a gradient, or is defined as not differentiable.
        """
        if self.op_def.gradient is not None or not self.op_def.differentiable:
            raise ValueError(
                f"[{self.op_def.name}] expected one gradient of a differentiable op, got a second "
                "one, or one for an op with differentiable=False"
            )
        self.op_def.gradient = function
        return function

    def static_value(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: `function(*inputs, **attrs)`, called as the shape function is, gives the value
        of the only output where it is the same in every step: an array, a TensorShape for a vector
        that is known in part, or None. It must be cheap."""
        self.op_def.static_value = function
        return function

    def __repr__(self) -> str:
        return f"<op {self.op_def}>"


def op(
    name: str,
    *,
    outputs: str,
    stateful: bool = False,
    differentiable: bool = True,
    pointwise: bool = False,
    role: Role = Role.NONE,
    **type_attrs: Any,
) -> Callable[[Callable[..., Shapes]], OpBuilder]:
    """Decorator that defines and registers an op.

    Args:
        name: the op's name, as in files.
        outputs: TensorFlow's notation, such as "y: T" or "idx: int32, values: N * T"; "" for none.
        stateful: whether nodes are never merged and never folded.
        differentiable: False where no gradient is meant to exist.
        pointwise: whether an element of the output depends on the elements in its place alone,
            after broadcasting.
        role: what it is to the engine, where it directs the flow of others' values.
        type_attrs: for each type attr, the allowed dtypes, or a pair (allowed, default).

    Raises:
        TypeError: the function's signature does not follow the contract; the message says where.
        ValueError: the op is defined already.
    """

    def define(function: Callable[..., Shapes]) -> OpBuilder:
        try:
            op_def = _parse(name, function, outputs, dict(type_attrs))
        except (TypeError, ValueError) as error:
            raise_located(error, name, None, f"{function.__module__}.{function.__qualname__}")
        op_def.stateful = stateful
        op_def.differentiable = differentiable
        op_def.pointwise = pointwise
        op_def.role = role
        signature.register(op_def)
        return OpBuilder(op_def, function)

    return define


# Reading a definition.


def _parse(
    name: str, function: Callable[..., Any], outputs: str, type_attrs: dict[str, Any]
) -> OpDef:
    inputs: list[ArgDef] = []
    attrs: dict[str, AttrDef] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            attrs[parameter.name] = _parse_attr(parameter, type_attrs)
        else:
            inputs.append(_parse_input(parameter))
    for arg in inputs:
        _add_inferred(attrs, arg, type_attrs)
    if type_attrs:
        raise TypeError(f"type attrs {', '.join(type_attrs)} belong to no input and no parameter")
    results = [_parse_arg(part, attrs) for part in outputs.split(",") if part.strip()]
    return OpDef(
        name, tuple(inputs), tuple(results), attrs, function, inspect.getdoc(function) or ""
    )


def _parse_input(parameter: inspect.Parameter) -> ArgDef:
    args = get_args(parameter.annotation)
    if get_origin(parameter.annotation) is not Annotated or not isinstance(args[1], str):
        raise TypeError(
            f"input {parameter.name}: expected an annotation such as Annotated[In, 'T'] or "
            f"Annotated[list[In], 'N * T'], got {parameter.annotation!r}; attrs stand after `*`"
        )
    number, star, element = args[1].rpartition("*")
    element = element.strip()
    is_list = get_origin(args[0]) is list
    if is_list and not star:
        return ArgDef(parameter.name, type_list_attr=element)
    if is_list != bool(star):
        raise TypeError(f"input {parameter.name}: 'N * T' goes with list[In], got {args[0]!r}")
    return ArgDef(parameter.name, **_element(element), number_attr=number.strip() or None)


def _element(text: str) -> dict[str, Any]:
    try:
        return {"dtype": as_dtype(text)}
    except TypeError:
        if not text.isidentifier():
            raise TypeError(f"expected a dtype or the name of a type attr, got {text!r}") from None
        return {"type_attr": text}


def _parse_arg(text: str, attrs: Mapping[str, AttrDef]) -> ArgDef:
    """An output in TensorFlow's notation."""
    name, colon, spec = (part.strip() for part in text.partition(":"))
    number, _, element = (part.strip() for part in spec.rpartition("*"))
    if not colon or not name.isidentifier() or not element:
        raise TypeError(f"expected outputs such as 'y: T, n: int32', got {text.strip()!r}")
    kind = attrs[element].kind if element in attrs else None
    if kind == "list(type)" and not number:
        return ArgDef(name, type_list_attr=element)
    fields = _element(element)
    if "type_attr" in fields and kind != "type":
        raise TypeError(f"output {name}: {element!r} is no dtype and no type attr")
    if number and (number not in attrs or attrs[number].kind != "int"):
        raise TypeError(f"output {name}: {number!r} is no int attr")
    return ArgDef(name, **fields, number_attr=number or None)


def _parse_attr(parameter: inspect.Parameter, type_attrs: dict[str, Any]) -> AttrDef:
    annotation = parameter.annotation
    is_list = get_origin(annotation) in (list, Sequence)
    element = get_args(annotation)[0] if is_list else annotation
    allowed: frozenset[Any] | None = None
    if get_origin(element) is Literal:
        allowed = frozenset(get_args(element))
        element = type(get_args(element)[0])
    kind = scalar_kind(element)
    if kind is None:
        raise TypeError(
            f"attr {parameter.name}: expected an annotation among bool, int, float, str, bytes, "
            "DType, TensorShape, np.ndarray, a Sequence of one, or a Literal of strings, got "
            f"{annotation!r}"
        )
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    if kind == "type" and parameter.name in type_attrs:
        allowed, default_type = _allowed(type_attrs.pop(parameter.name))
        default = default_type if default is REQUIRED else default
    if is_list:
        kind = f"list({kind})"
    attr = AttrDef(parameter.name, kind, REQUIRED, allowed)
    if default is not REQUIRED:
        attr = AttrDef(parameter.name, kind, attr.check(default), allowed)
    return attr


def _allowed(given: Any) -> tuple[frozenset[DType], Any]:
    """The parts of `T=allowed` or `T=(allowed, default)`."""
    allowed, default = given if isinstance(given, tuple) else (given, REQUIRED)
    dtypes = frozenset(map(as_dtype, allowed))
    if default is not REQUIRED and as_dtype(default) not in dtypes:
        raise TypeError(f"the default {default} is not among the allowed dtypes")
    return dtypes, default if default is REQUIRED else as_dtype(default)


def _add_inferred(attrs: dict[str, AttrDef], arg: ArgDef, type_attrs: dict[str, Any]) -> None:
    """The attrs that an input implies: its type, and its length where it is a list."""
    attr = arg.type_attr or arg.type_list_attr
    if attr is not None and attr not in attrs:
        if attr not in type_attrs:
            raise TypeError(f"input {arg.name}: expected the dtypes of {attr}, as in {attr}=ALL")
        allowed, default = _allowed(type_attrs.pop(attr))
        kind = "list(type)" if arg.type_list_attr else "type"
        attrs[attr] = AttrDef(attr, kind, default, allowed, inferred=True)
    if arg.number_attr is not None and arg.number_attr not in attrs:
        attrs[arg.number_attr] = AttrDef(arg.number_attr, "int", inferred=True)


def _public_signature(function: Callable[..., Any]) -> inspect.Signature:
    original = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=Any)
        if parameter.kind is not parameter.KEYWORD_ONLY
        else parameter
        for parameter in original.parameters.values()
    ]
    attrs = any(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)
    kind = inspect.Parameter.KEYWORD_ONLY if attrs else inspect.Parameter.POSITIONAL_OR_KEYWORD
    name = inspect.Parameter("name", kind, default=None, annotation=str | None)
    return original.replace(parameters=[*parameters, name], return_annotation=Any)


# Using an op.


def _name_to_be(name: str) -> str:
    """The whole name of a node that could not be made."""
    if not isinstance(name, str):
        return repr(name)
    if name.endswith("/"):
        return name[:-1]
    return get_default_graph().unique_name(name, mark_as_used=False)


def _attr(op_def: OpDef, key: str) -> AttrDef:
    try:
        return op_def.attrs[key]
    except KeyError:
        raise TypeError(f"expected arguments of {op_def}, got {key!r}") from None


def _ends_with_name(op_def: OpDef, args: tuple[Any, ...]) -> bool:
    """Whether a name follows the inputs, as TensorFlow has it for ops without attributes."""
    one_more = len(args) == len(op_def.inputs) + 1
    return one_more and not op_def.parameters and isinstance(args[-1], str | None)


def _bind_by_name(
    op_def: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All inputs in order, some of which were given by name."""
    if len(args) > len(op_def.inputs):
        raise TypeError(
            f"expected {len(op_def.inputs)} inputs for {op_def}, got {len(args)}; "
            "attrs and name= are given by name"
        )
    rest = dict(kwargs)
    missing = [arg.name for arg in op_def.inputs[len(args) :] if arg.name not in rest]
    if missing:
        raise TypeError(f"expected the inputs {', '.join(missing)} too, for {op_def}")
    return (*args, *(rest.pop(arg.name) for arg in op_def.inputs[len(args) :])), rest


def _fail_missing(op_def: OpDef, attrs: Mapping[str, Any]) -> None:
    missing = [name for name in op_def.parameters if name not in attrs]
    if missing:
        raise TypeError(f"expected the attrs {', '.join(missing)} too, for {op_def}")


def _bind_outputs(op_def: OpDef, args: Sequence[Any], attrs: dict[str, Any]) -> "Graph | None":
    """The frequent case: single inputs that are Outputs of the right types. Binds the type attrs
    and gives the graph; None for all other cases, with nothing bound that `_inputs` would not."""
    if not args or op_def.plain_inputs is None:
        return None
    for value in args:
        if type(value) is not Output:
            return None
    graph = args[0].op.graph
    for i, (fixed, attr, allowed) in enumerate(op_def.plain_inputs):
        value = args[i]
        dtype = value.dtype
        if fixed is None:
            fixed = attrs.setdefault(attr, dtype)
        if (
            dtype is not fixed
            or value.op.graph is not graph
            or (allowed is not None and dtype not in allowed)
        ):
            return None
    return graph


def _inputs(
    op_def: OpDef, args: Sequence[Any], attrs: dict[str, Any], name: str | None
) -> tuple["Graph", list[Output], str | None]:
    """The graph to use, all inputs as Outputs, lists spread out, and the name of the node, under
    which the constants made for plain values stand. Adds the inferred attrs."""
    specs, slots = _spread(op_def, args, attrs)
    graph = None
    plain = False
    for i, arg in enumerate(specs):
        slot = slots[i]
        if type(slot) is not Output:
            plain = True
            continue
        _bind_type(op_def, arg, slot.dtype, slot, attrs)
        if graph is None:
            graph = slot.op.graph
        elif slot.op.graph is not graph:
            raise ValueError(f"input {arg.name}: expected {slot!r} to be of the others' graph")
    if graph is None:
        graph = get_default_graph()
    if plain:
        name = _add_constants(op_def, specs, slots, attrs, graph, name)
    _bind_lists(op_def, args, slots, attrs)
    return graph, slots, name


def _spread(
    op_def: OpDef, args: Sequence[Any], attrs: dict[str, Any]
) -> tuple[list[ArgDef], list[Any]]:
    """All inputs, lists spread out, each with the argument it is of: Outputs, and plain values
    whose dtype is not known yet. Here and below loops count, because zip(strict=True) takes longer
    than all the rest."""
    specs: list[ArgDef] = []
    slots: list[Any] = []
    for i, arg in enumerate(op_def.inputs):
        for element in _elements(arg, args[i], attrs):
            output = converted(element, _known_dtype(arg, attrs))
            slots.append(element if output is None else output)
            specs.append(arg)
    return specs, slots


def _add_constants(
    op_def: OpDef,
    specs: Sequence[ArgDef],
    slots: list[Any],
    attrs: dict[str, Any],
    graph: "Graph",
    name: str | None,
) -> str:
    """Puts Outputs of constants in the place of plain values; gives the name of the node to be."""
    plain = [i for i, slot in enumerate(slots) if type(slot) is not Output]
    for i in plain:
        array = _as_array(op_def, specs[i], slots[i], attrs)
        _bind_type(op_def, specs[i], as_dtype(array.dtype), slots[i], attrs)
        slots[i] = array
    name = graph.reserve_name(name or op_def.name) + "/"
    for i in plain:
        slots[i] = constant_node(graph, slots[i], f"{name}{specs[i].name}/", free=True)
    return name


def _elements(arg: ArgDef, value: Any, attrs: dict[str, Any]) -> Sequence[Any]:
    """The values an argument holds; a list's length becomes its number attr."""
    if not arg.is_list:
        return (value,)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"input {arg.name}: expected a list, got {describe(value)}")
    if arg.number_attr is not None:
        known = attrs.setdefault(arg.number_attr, len(value))
        if known != len(value):
            raise ValueError(
                f"input {arg.name}: expected {known} elements ({arg.number_attr}), got {len(value)}"
            )
    return value


def _known_dtype(arg: ArgDef, attrs: Mapping[str, Any]) -> DType | None:
    return arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)


def _bind_type(op_def: OpDef, arg: ArgDef, dtype: DType, value: Any, attrs: dict[str, Any]) -> None:
    """Checks the dtype of the value of an input, or lets it decide the type attr."""
    attr = arg.type_attr
    if attr is None:
        if dtype is not arg.dtype and arg.dtype is not None:
            raise TypeError(f"input {arg.name}: expected {arg.dtype.name}, got {_shown(value)}")
        return
    known = attrs.setdefault(attr, dtype)
    if known is not dtype:
        raise TypeError(
            f"input {arg.name}: expected {known.name}, the type {attr} of another input, "
            f"got {_shown(value)}; qn.cast changes types"
        )
    allowed = op_def.attrs[attr].allowed
    if allowed is not None and dtype not in allowed:
        raise TypeError(
            f"input {arg.name}: expected one of {signature.accepted_dtypes(op_def, attr)}, got "
            f"{_shown(value)}"
        )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, Output) else describe(value)


def _as_array(op_def: OpDef, arg: ArgDef, value: Any, attrs: Mapping[str, Any]) -> Any:
    """A plain value with the dtype that the op asks for here."""
    known = _known_dtype(arg, attrs)
    try:
        if known is not None:
            return _strictly_typed(value, known)
        array = to_array(value)
        attr = arg.type_attr
        if attr is None:
            return array
        definition = op_def.attrs[attr]
        accepted = definition.allowed is None or as_dtype(array.dtype) in definition.allowed
        if accepted or definition.default is REQUIRED:
            return array
        return to_array(value, definition.default)
    except (TypeError, ValueError) as error:
        raise type(error)(f"input {arg.name}: {error}") from None


def _strictly_typed(value: Any, dtype: DType) -> Any:
    """As `to_array`, but an array of another type is an error: only Python values are weak."""
    import numpy as np

    if isinstance(value, np.ndarray) and value.dtype.kind not in "OSU":
        given = as_dtype(value.dtype)
        if given is not dtype:
            raise TypeError(
                f"expected {dtype.name}, got {describe(value)}; convert it with .astype"
            )
    return to_array(value, dtype)


def _bind_lists(
    op_def: OpDef, args: Sequence[Any], inputs: Sequence[Output], attrs: dict[str, Any]
) -> None:
    """Sets list-of-types attrs, and type attrs that an empty list left open."""
    if not op_def.has_lists:
        return
    at = 0
    for i, arg in enumerate(op_def.inputs):
        count = len(args[i]) if arg.is_list else 1
        if arg.type_list_attr is not None:
            given = [output.dtype for output in inputs[at : at + count]]
            known = attrs.setdefault(arg.type_list_attr, given)
            if known != given:
                raise TypeError(
                    f"input {arg.name}: expected the types {arg.type_list_attr} = "
                    f"{', '.join(map(str, known))}, got {', '.join(map(str, given))}"
                )
            op_def.attrs[arg.type_list_attr].check(given)
        elif arg.type_attr is not None and arg.type_attr not in attrs:
            default = op_def.attrs[arg.type_attr].default
            if default is REQUIRED:
                raise ValueError(
                    f"input {arg.name}: expected at least one element, or {arg.type_attr}=..., got "
                    "none"
                )
            attrs[arg.type_attr] = default
        at += count
