"""Variables by name: made on first use and shared from then on.

with variable_scope("layer"):
    w = get_variable("w", [3, 4])        # named layer/w
with variable_scope("layer", reuse=True):
    assert get_variable("w") is w
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from qanat.core import dtypes
from qanat.core.constants import describe, natural_dtype
from qanat.core.convert import converted
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import (
    Graph,
    GraphKeys,
    Output,
    add_to_collection,
    convert_to_tensor,
    get_default_graph,
    name_scope,
)
from qanat.core.shapes import UNKNOWN, ShapeLike, TensorShape, as_shape
from qanat.ops import initializers
from qanat.ops.variables import Variable

__all__ = [
    "AUTO_REUSE",
    "VariableScope",
    "get_local_variable",
    "get_variable",
    "get_variable_scope",
    "no_regularizer",
    "variable_scope",
]

Getter = Callable[..., Any]
Constraint = Callable[[Output], Output]
Initializer = Callable[..., Any]
Regularizer = Callable[[Variable], Output | None]


class _AutoReuse(enum.Enum):
    """The type of AUTO_REUSE."""

    AUTO_REUSE = "AUTO_REUSE"


AUTO_REUSE: Final = _AutoReuse.AUTO_REUSE
"""As `reuse`: a variable is made where there is none of the name, and shared where there is one."""

Reuse = bool | _AutoReuse


def no_regularizer(_: Any) -> None:
    """A regularizer that adds no loss, for a part of a scope that has one."""


class _Store:
    """What a graph remembers: variables by full name, the scope in force, how often scopes were
    entered.
    """

    def __init__(self) -> None:
        self.variables: dict[str, Variable] = {}
        self.scope = VariableScope()
        self.entered: dict[str, int] = {}

    def unique(self, prefix: str) -> str:
        """`prefix` as the name of a scope within the current one that was not entered yet."""
        base = f"{self.scope.name}/{prefix}" if self.scope.name else prefix
        if not self.entered.get(base):
            return prefix
        number = 1
        while self.entered.get(f"{base}_{number}"):
            number += 1
        return f"{prefix}_{number}"

    def enter(self, name: str) -> None:
        self.entered[name] = self.entered.get(name, 0) + 1

    def leave(self, name: str) -> None:
        """Forgets the inner scopes, so that a second pass through the scope gives them the same
        names.
        """
        for inner in [key for key in self.entered if key.startswith(f"{name}/")]:
            del self.entered[inner]


_stores: "WeakKeyDictionary[Graph, _Store]" = WeakKeyDictionary()


def _store() -> _Store:
    return _stores.setdefault(get_default_graph(), _Store())


class VariableScope:
    """A prefix for the names of variables, and defaults for `get_variable`.

    Attributes:
        name: the prefix, without "/" at its end.
        original_name_scope: the name scope that was opened with it.
        reuse: False: variables are new; True: they exist; AUTO_REUSE: either.
        initializer, regularizer, dtype, constraint, custom_getter: for variables that are given
            none.
    """

    def __init__(
        self,
        name: str = "",
        original_name_scope: str = "",
        reuse: Reuse = False,
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        dtype: DType = dtypes.float32,
        constraint: Constraint | None = None,
        custom_getter: Getter | None = None,
    ) -> None:
        self.name = name
        self.original_name_scope = original_name_scope
        self.reuse = reuse
        self.initializer = initializer
        self.regularizer = regularizer
        self.dtype = dtype
        self.constraint = constraint
        self.custom_getter = custom_getter

    def reuse_variables(self) -> None:
        """From now on variables of this scope must exist."""
        self.reuse = True

    def set_initializer(self, initializer: Initializer | None) -> None:
        self.initializer = initializer

    def set_regularizer(self, regularizer: Regularizer | None) -> None:
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def set_custom_getter(self, custom_getter: Getter | None) -> None:
        self.custom_getter = custom_getter

    def global_variables(self) -> list[Variable]:
        """The global variables whose names begin with the scope's."""
        return self._collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list[Variable]:
        """The trainable variables whose names begin with the scope's."""
        return self._collection(GraphKeys.TRAINABLE_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """The local variables whose names begin with the scope's."""
        return self._collection(GraphKeys.LOCAL_VARIABLES)

    def _collection(self, key: str) -> list[Variable]:
        return get_default_graph().get_collection(key, f"{self.name}/" if self.name else None)


def get_variable_scope() -> VariableScope:
    """The scope in force in the default graph."""
    return _store().scope


@contextmanager
def variable_scope(
    name_or_scope: str | VariableScope | None = None,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
    initializer: Initializer | None = None,
    regularizer: Regularizer | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Getter | None = None,
    reuse: Reuse | None = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Constraint | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Puts `name/` in front of the names of variables from `get_variable`, and of operations, in
    the block.

    Args:
        name_or_scope: a name within the current scope, or a scope to enter again.
        default_name: used, made unique, where name_or_scope is None; then reuse must not be True.
        values: Outputs whose graph is the one to use.
        initializer, regularizer, custom_getter, dtype, constraint: defaults for variables in the
            block; those of the outer scope where not given.
        reuse: see `VariableScope`; an outer scope's reuse goes on in inner ones.
        auxiliary_name_scope: whether to open a name scope, too.
        caching_device, use_resource: have no effect.

    Raises:
        ValueError: there is neither name nor default_name, or reuse=True with default_name only.
        NotImplementedError: a partitioner is given.
    """
    if partitioner is not None:
        raise NotImplementedError("[variable_scope] expected no partitioner")
    outputs = [value for value in values or () if isinstance(value, Output)]
    graph = outputs[0].graph if outputs else get_default_graph()
    with graph.as_default():
        store = _store()
        if name_or_scope is None:
            if default_name is None:
                raise ValueError("[variable_scope] expected a name or a default_name, got neither")
            if reuse is True:
                raise ValueError(
                    "[variable_scope] expected a name with reuse=True, got default_name"
                )
            name_or_scope = store.unique(default_name)
        inner = _inner_scope(store.scope, name_or_scope, reuse)
        _override(inner, initializer, regularizer, dtype, constraint, custom_getter)
        with _name_scope_of(name_or_scope, auxiliary_name_scope) as inner.original_name_scope:
            outer, store.scope = store.scope, inner
            store.enter(inner.name)
            try:
                yield inner
            finally:
                store.leave(inner.name)
                store.scope = outer


def _inner_scope(
    outer: VariableScope, name_or_scope: str | VariableScope, reuse: Reuse | None
) -> VariableScope:
    """A new scope with the defaults of the one it is made from."""
    if isinstance(name_or_scope, VariableScope):
        inner = copy(name_or_scope)
    else:
        inner = copy(outer)
        inner.name = f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
    inner.reuse = reuse or inner.reuse or outer.reuse
    return inner


def _override(
    scope: VariableScope,
    initializer: Initializer | None,
    regularizer: Regularizer | None,
    dtype: Any,
    constraint: Constraint | None,
    custom_getter: Getter | None,
) -> None:
    """Replaces the defaults that are given; a custom getter is called with the outer one as its
    getter.
    """
    scope.initializer = initializer or scope.initializer
    scope.regularizer = regularizer or scope.regularizer
    scope.dtype = scope.dtype if dtype is None else dtypes.as_dtype(dtype)
    scope.constraint = constraint or scope.constraint
    if custom_getter is not None:
        outer = scope.custom_getter
        scope.custom_getter = (
            custom_getter
            if outer is None
            else lambda getter, *args, **kwargs: custom_getter(
                partial(outer, getter), *args, **kwargs
            )
        )


@contextmanager
def _name_scope_of(name_or_scope: str | VariableScope, wanted: bool) -> Iterator[str]:
    """The name scope that goes with a variable scope."""
    name = name_or_scope if isinstance(name_or_scope, str) else name_or_scope.name
    last = name.split("/")[-1] if isinstance(name_or_scope, VariableScope) else name
    if wanted and last:
        with name_scope(last) as prefix:
            yield prefix
    else:
        current = get_default_graph().get_name_scope()
        yield f"{current}/" if current else ""


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: Sequence[Any] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Getter | None = None,
    constraint: Constraint | None = None,
) -> Variable:
    """The variable of that name in the current `variable_scope`: a new one, or by its reuse the
    existing one.

    Args:
        name: within the scope.
        shape: fully known; not needed where initializer is a value.
        dtype: of its elements. If not given, that of an initializer that is a value; else the
            scope's, float32.
        initializer: a function (shape, dtype=) -> value, its class, or the value itself. If not
            given, the scope's; else glorot_uniform for floating-point numbers and zeros for others.
        regularizer: a function of the variable whose result joins the collection
            REGULARIZATION_LOSSES.
        trainable, collections, validate_shape, constraint: see `Variable`.
        custom_getter: called instead, with the function that would be called as its first argument.
        caching_device, use_resource: have no effect.

    Raises:
        ValueError: by reuse it must exist and does not, or must not exist and does; shape or dtype
            are not those of the existing one; there is no shape, or the initial value has another
            one.
        NotImplementedError: a partitioner is given.
    """
    if partitioner is not None:
        raise NotImplementedError("[get_variable] expected no partitioner")
    scope = get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    getter: Getter = _get
    for custom in (scope.custom_getter, custom_getter):
        if custom is not None:
            getter = partial(custom, getter)
    return getter(
        name=full,
        shape=None if shape is None else as_shape(shape),
        dtype=_dtype(dtype, initializer, scope),
        initializer=scope.initializer if initializer is None else initializer,
        regularizer=regularizer or scope.regularizer,
        reuse=scope.reuse,
        trainable=True if trainable is None else trainable,
        collections=collections,
        validate_shape=validate_shape,
        constraint=constraint or scope.constraint,
    )


def _dtype(dtype: Any, initializer: Any, scope: VariableScope) -> DType:
    if dtype is not None:
        return dtypes.as_dtype(dtype)
    if initializer is None or callable(initializer):
        return scope.dtype
    if isinstance(initializer, Output | Variable):
        return initializer.dtype
    output = converted(initializer, None)
    return natural_dtype(initializer) if output is None else output.dtype


def _get(name: str, shape: TensorShape | None, dtype: DType, reuse: Reuse, **how: Any) -> Variable:
    """The variable of that full name, existing or new."""
    variables = _store().variables
    found = variables.get(name)
    if found is not None:
        if reuse is False:
            raise ValueError(
                f"[get_variable] expected a new name, got {name}, made at {found.op.user_line}; "
                "did you mean reuse=True or reuse=qn.AUTO_REUSE in variable_scope?"
            )
        _require_same(found, shape, dtype)
        return found
    if reuse is True:
        raise ValueError(
            f"[get_variable] expected the name of an existing variable, got {name}; "
            "did you mean reuse=qn.AUTO_REUSE in variable_scope?"
        )
    variables[name] = made = _make(name, shape, dtype, **how)
    return made


def _require_same(found: Variable, shape: TensorShape | None, dtype: DType) -> None:
    if shape is not None and not shape.is_compatible_with(found.shape):
        raise ValueError(
            f"[get_variable] expected {found.op.name}'s shape {found.shape}, got {shape}"
        )
    if dtype is not found.dtype:
        raise ValueError(
            f"[get_variable] expected {found.op.name}'s dtype {found.dtype}, got {dtype}"
        )


def _make(
    name: str,
    shape: TensorShape | None,
    dtype: DType,
    initializer: Any,
    regularizer: Regularizer | None,
    validate_shape: bool,
    **how: Any,
) -> Variable:
    wanted = UNKNOWN if shape is None or not validate_shape else shape
    initial = _initial_value(name, shape, wanted, dtype, initializer)
    with name_scope(None):
        variable = Variable(initial, name=name, dtype=dtype, validate_shape=validate_shape, **how)
    if regularizer is not None:
        with name_scope(f"{name}/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _initial_value(
    name: str, shape: TensorShape | None, wanted: TensorShape, dtype: DType, initializer: Any
) -> Any:
    """What `Variable` takes: a value, or a function without arguments. It has the shape wanted."""
    if isinstance(initializer, type):
        initializer = initializer()
    if initializer is not None and not callable(initializer):
        tensor = isinstance(initializer, Output | Variable)
        got = initializer.shape if tensor else np.shape(initializer)
        _require_shape(name, wanted, got, f"the value {describe(initializer)}")
        return initializer
    if shape is None or not shape.is_fully_defined():
        raise ValueError(f"[get_variable] expected a fully known shape for {name}, got {shape}")
    if initializer is None:
        floating = dtype in dtypes.FLOATING
        initializer = initializers.glorot_uniform() if floating else initializers.zeros()

    def initial() -> Output:
        value = convert_to_tensor(
            initializer(shape.as_list(), dtype=dtype), dtype=dtype, name="initial_value"
        )
        maker = getattr(initializer, "__name__", type(initializer).__name__)
        _require_shape(name, wanted, value.shape, f"what {maker} returned")
        return value

    return initial


def _require_shape(name: str, wanted: TensorShape, got: ShapeLike, value: str) -> None:
    if not wanted.is_compatible_with(got):
        raise ShapeError(
            f"[get_variable] expected an initial value of shape {wanted} for {name!r}, got "
            f"{value}, of shape {as_shape(got)}"
        )


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Variable:
    """`get_variable` for the collection LOCAL_VARIABLES, not trainable."""
    kwargs["collections"] = [*(kwargs.get("collections") or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, *args, **{**kwargs, "trainable": False})
