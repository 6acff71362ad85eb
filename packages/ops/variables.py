"""Variables: buffers that outlive a step, with a value to begin with."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from qanat.core import base_ops, dtypes
from qanat.core.convert import register_tensor_conversion_function
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import (
    Graph,
    GraphKeys,
    Operation,
    Output,
    convert_to_tensor,
    get_collection,
    get_default_graph,
    name_scope,
)
from qanat.core.operation import Operators
from qanat.core.shapes import UNKNOWN, ShapeLike, TensorShape, as_shape
from qanat.ops import comparison, indexing, joining, state

__all__ = [
    "Variable",
    "all_variables",
    "assign",
    "assign_add",
    "assign_sub",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


class Variable(Operators):
    """A tensor that keeps its value between steps.

    It has no value until its `initializer` has run (`global_variables_initializer` runs all), or a
    checkpoint is restored: to read it before is a failed-precondition error that names it and the
    line that made it. Wherever an Output is expected a variable is read; what was read does not
    change when the variable is written later. Reads and writes of one step are ordered by data and
    control edges only.

    Attributes:
        handle: the Output that refers to the buffer.
        initializer: the Operation that gives it its initial value.
        initial_value: that value, an Output.
        dtype: of its elements.
        constraint: what optimizers apply after an update, or None.
        trainable: whether optimizers change it unless told otherwise.
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool = True,
        collections: Sequence[Any] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: ShapeLike = None,
        import_scope: str | None = None,
        constraint: Callable[[Output], Output] | None = None,
        use_resource: bool | None = None,
    ) -> None:
        """
        Args:
            initial_value: what an Output is made of, or a function without arguments that gives it,
                which is called in the name scope "Initializer" of the variable.
            trainable: also put it into the collection TRAINABLE_VARIABLES.
            collections: where to put it; GLOBAL_VARIABLES if not given.
            validate_shape: whether all its values have the shape of the first.
            name: of its handle; "Variable" if not given, made unique.
            dtype: of its elements; that of initial_value if not given.
            expected_shape: a shape that initial_value must have.
            constraint: maps an updated value to the one to keep.
            caching_device, import_scope, use_resource: have no effect.

        Raises:
            ValueError: there is no initial value, or it has not the expected shape.
            NotImplementedError: variable_def is given.
        """
        if variable_def is not None:
            raise NotImplementedError("[Variable] expected no variable_def")
        if initial_value is None:
            raise ValueError("[Variable] expected an initial_value, got None")
        self.constraint = constraint
        self.trainable = trainable
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        graph = get_default_graph()
        with (
            graph.control_dependencies(None),
            name_scope(name, "Variable", _outputs(initial_value)) as scope,
        ):
            value = _initial(initial_value, wanted)
            if not as_shape(expected_shape).is_compatible_with(value.shape):
                raise ShapeError(
                    f"[Variable] expected an initial value of shape {as_shape(expected_shape)} for "
                    f"{scope[:-1]!r}, got {value.shape}"
                )
            self._build(graph, scope, value, value.shape if validate_shape else UNKNOWN)
        keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(keys, self)

    def _build(self, graph: Graph, scope: str, value: Output, shape: TensorShape) -> None:
        """Makes the handle, named as the scope, and the nodes that every variable has."""
        self.initial_value = value
        self.dtype: DType = value.dtype
        self.handle: Output = state.var_handle_op(
            container=graph.get_container(),
            shared_name=scope[:-1],
            dtype=value.dtype,
            shape=shape,
            name=scope,
        )
        with graph.device_of(self.op):
            self.initializer: Operation = state.assign_variable_op(
                self.handle, value, name="Assign"
            )
        with name_scope("Read"):
            self._snapshot = self._read()

    def _read(self, name: str | None = None) -> Output:
        with self.graph.device_of(self.op):
            return state.read_variable_op(self.handle, dtype=self.dtype, name=name)

    @property
    def op(self) -> Operation:
        """The Operation of the handle."""
        return self.handle.op

    @property
    def name(self) -> str:
        """The handle's name, such as "layer/kernel:0"."""
        return self.handle.name

    @property
    def graph(self) -> Graph:
        return self.handle.graph

    @property
    def device(self) -> str:
        return self.handle.device

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of all its values."""
        data = self.handle.handle_data
        return UNKNOWN if data is None else data.shape

    def get_shape(self) -> TensorShape:
        return self.shape

    def value(self) -> Output:
        """The value at the time the read runs; the same as `read_value`."""
        return self._read()

    def read_value(self) -> Output:
        """The value at the time the read runs: after all control dependencies of the enclosing
        block.
        """
        with name_scope("Read"):
            return self._read()

    def initialized_value(self) -> Output:
        """The value if there is one, else the initial value: for initial values of others."""
        with self.graph.device_of(self.op):
            return state.read_variable_or_else_op(self.handle, self.initial_value)

    def eval(self, session: Any = None) -> Any:
        """The value in the given session, or the default one."""
        return self._snapshot.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value in the given session, or the default one, without adding to the graph."""
        self.initializer.run({self.initial_value: np.asarray(value, self.dtype.as_numpy)}, session)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Makes `value` the variable's value.

        Args:
            value: of the variable's dtype and shape.
            use_locking: has no effect: writes never mix.
            read_value: whether to give the value after the write (an Output) or the write (an
                Operation).

        Raises:
            ShapeError: value has another shape.
        """
        return self._written(state.assign_variable_op, value, name, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds `delta`; sums that steps add at once are never lost. Arguments as in `assign`."""
        return self._written(state.assign_add_variable_op, delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts `delta`; as `assign_add`."""
        return self._written(state.assign_sub_variable_op, delta, name, read_value)

    def _written(self, builder: Any, value: Any, name: str | None, read_value: bool) -> Any:
        converted = convert_to_tensor(value, dtype=self.dtype)
        with self.graph.device_of(self.op):
            write = builder(self.handle, converted, name=name)
        if not read_value:
            return write
        with self.graph.control_dependencies([write]):
            return self._read()

    def is_initialized(self, name: str | None = None) -> Output:
        """Whether it has a value, a scalar bool."""
        with self.graph.device_of(self.op):
            return state.var_is_initialized_op(self.handle, name=name)

    def set_shape(self, shape: ShapeLike) -> None:
        """Checks that `shape` agrees with the variable's; raises ShapeError if not."""
        self.shape.assert_is_compatible_with(shape)

    def _as_graph_element(self) -> Output:
        """What a fetch or feed of the variable means: its value."""
        return self._snapshot

    def __contains__(self, value: Any) -> bool:
        return value in self.value()

    def __iter__(self) -> Any:
        raise TypeError(f"{self!r} is not iterable; its value, from read_value(), is")

    def __bool__(self) -> bool:
        return bool(self.value())

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value().__array__(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<qn.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


def _outputs(value: Any) -> list[Output]:
    return [value] if isinstance(value, Output) else []


def _initial(value: Any, dtype: DType | None) -> Output:
    if not callable(value):
        return convert_to_tensor(value, dtype=dtype, name="initial_value")
    with name_scope("Initializer"):
        return convert_to_tensor(value(), dtype=dtype, name="initial_value")


def _read_on_conversion(variable: Variable, dtype: DType | None, name: str | None) -> Output:
    return variable._read(name)


register_tensor_conversion_function(Variable, _read_on_conversion)


def assign(
    ref: Variable,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """`ref.assign(value)`."""
    return ref.assign(value, name=name)


def assign_add(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """`ref.assign_add(value)`."""
    return ref.assign_add(value, name=name)


def assign_sub(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """`ref.assign_sub(value)`."""
    return ref.assign_sub(value, name=name)


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables that all tasks share; those whose names match the prefix or pattern `scope`, if
    given.
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables of one process, in no checkpoint; see `global_variables` for `scope`."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the collection MODEL_VARIABLES; see `global_variables` for `scope`."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables that have a moving average; see `global_variables` for `scope`."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables made with trainable=True; see `global_variables` for `scope`."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def variables_initializer(var_list: Iterable[Variable], name: str = "init") -> Operation:
    """An Operation that gives each of the variables its initial value."""
    return base_ops.group(*(variable.initializer for variable in var_list), name=name)


def global_variables_initializer() -> Operation:
    """An Operation that gives all `global_variables()` their initial values."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An Operation that gives all `local_variables()` their initial values."""
    return variables_initializer(local_variables())


all_variables = global_variables
initialize_all_variables = global_variables_initializer


def is_variable_initialized(variable: Variable) -> Output:
    """Whether the variable has a value, a scalar bool."""
    return variable.is_initialized()


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Output:
    """The names of the variables that have no value, a string vector.

    Args:
        var_list: which ones; all global and local ones if not given.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    with name_scope(name):
        if not var_list:
            return convert_to_tensor(np.array([], object), dtype=dtypes.string)
        missing = comparison.logical_not(joining.stack([v.is_initialized() for v in var_list]))
        return indexing.boolean_mask(np.array([v.op.name for v in var_list], object), missing)
