"""The vertices of a graph, and the symbolic values that flow between them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from qanat.core import user_line
from qanat.core.attrs import as_text
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError, located
from qanat.core.shapes import ShapeLike, TensorShape, as_shape, merge
from qanat.core.signature import Handle, OpDef, output_handle

if TYPE_CHECKING:
    from qanat.core.graph import Graph
    from qanat.core.schema.node_def_pb2 import NodeDef
    from qanat.core.scopes import ControlFlow


class Operators:
    """Python's operators of Outputs and what converts to them; `qanat.ops.operators` installs
    them."""

    __slots__ = ()

    # NumPy arrays leave `array + output` to the operators of this class.
    __array_ufunc__ = None

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> "Output": ...
        def __radd__(self, other: Any) -> "Output": ...
        def __sub__(self, other: Any) -> "Output": ...
        def __rsub__(self, other: Any) -> "Output": ...
        def __mul__(self, other: Any) -> "Output": ...
        def __rmul__(self, other: Any) -> "Output": ...
        def __truediv__(self, other: Any) -> "Output": ...
        def __rtruediv__(self, other: Any) -> "Output": ...
        def __floordiv__(self, other: Any) -> "Output": ...
        def __rfloordiv__(self, other: Any) -> "Output": ...
        def __mod__(self, other: Any) -> "Output": ...
        def __rmod__(self, other: Any) -> "Output": ...
        def __pow__(self, other: Any) -> "Output": ...
        def __rpow__(self, other: Any) -> "Output": ...
        def __matmul__(self, other: Any) -> "Output": ...
        def __rmatmul__(self, other: Any) -> "Output": ...
        def __and__(self, other: Any) -> "Output": ...
        def __rand__(self, other: Any) -> "Output": ...
        def __or__(self, other: Any) -> "Output": ...
        def __ror__(self, other: Any) -> "Output": ...
        def __xor__(self, other: Any) -> "Output": ...
        def __rxor__(self, other: Any) -> "Output": ...
        def __lt__(self, other: Any) -> "Output": ...
        def __le__(self, other: Any) -> "Output": ...
        def __gt__(self, other: Any) -> "Output": ...
        def __ge__(self, other: Any) -> "Output": ...
        def __getitem__(self, other: Any) -> "Output": ...
        def __neg__(self) -> "Output": ...
        def __abs__(self) -> "Output": ...
        def __invert__(self) -> "Output": ...


class Output(Operators):
    """A symbolic result of an Operation: what a step will compute (TensorFlow's `Tensor`).

    Compared and hashed by identity.

    Attributes:
        op: the Operation that computes it.
        index: its place among the outputs of `op`.
        dtype: its element type.
        handle_data: for a resource, the (dtype, shape) it refers to, where known.
    """

    __slots__ = ("_consumers", "_shape", "dtype", "handle_data", "index", "op")

    def __init__(
        self, op: "Operation", index: int, dtype: DType, inferred: TensorShape | Handle
    ) -> None:
        self.op = op
        self.index = index
        self.dtype = dtype
        if type(inferred) is TensorShape:
            self._shape: TensorShape = inferred
            self.handle_data: Handle | None = None
        else:
            self._shape, self.handle_data = output_handle(inferred)
        self._consumers: list[Operation] = []

    @property
    def name(self) -> str:
        """The operation's name and the index: "MatMul:0"."""
        return f"{self.op.name}:{self.index}"

    @property
    def graph(self) -> "Graph":
        return self.op.graph

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape: all that is known before a step."""
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Adds what the caller knows to the static shape.

        Raises:
            ShapeError: it contradicts what is known.
        """
        try:
            self._shape = merge(self._shape, as_shape(shape))
        except ShapeError as error:
            op = self.op
            raise ShapeError(
                located(f"set_shape: {error}", op.type, op.name, op.user_line)
            ) from None

    def consumers(self) -> "list[Operation]":
        """The operations that have this as an input, each once, in the order they were made."""
        return list(dict.fromkeys(self._consumers))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in the given session, or the default one; see `Session.run`."""
        return _session_for(self.op, session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<qn.Output '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no truth value while the graph is built: it is not computed yet. "
            "For `if`, use qn.cond; for `and`, `or`, `not`, use qn.logical_and and its like; to "
            "ask whether there is an output, `is not None`."
        )

    def __contains__(self, value: Any) -> bool:
        raise TypeError(
            f"{self!r} has no elements while the graph is built, so that `in` cannot look for any. "
            "Use qn.reduce_any(qn.equal(tensor, value))."
        )

    def __iter__(self) -> Iterator[Any]:
        """The slices along the first dimension.

        Raises:
            TypeError: the number of them is not known statically.
        """
        count = self._shape[0] if self._shape.dims else None
        if count is None:
            raise TypeError(
                f"{self!r} cannot be iterated: its first dimension is not known while the graph is "
                "built. Use qn.map_fn, or set_shape."
            )
        return iter([self[i] for i in range(count)])

    def __len__(self) -> int:
        raise TypeError(
            f"{self!r} has no len() while the graph is built; use its shape, or qn.size."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self!r} is no NumPy array: run it in a session to get its value.")


class Operation:
    """A vertex of a graph: a use of an op, with its inputs and attributes.

    Attributes:
        graph: the graph it belongs to.
        type: the op's name, such as "MatMul".
        name: unique in the graph.
        op_def: the op's definition.
        inputs, outputs: tuples of Outputs.
        device: what its device is constrained to; "" for nothing.
        gradient_override: takes the place of `op_def.gradient` for this operation, if not None.
        control_flow: the branch or loop that its outputs are alive in; None for none.
        construct: the cond or loop that it gives a result of, which is differentiated as a whole;
            None for none. See `qanat.autodiff.constructs`.
    """

    __slots__ = (
        "_attrs",
        "_control_inputs",
        "_position",
        "construct",
        "control_flow",
        "device",
        "gradient_override",
        "graph",
        "inputs",
        "name",
        "op_def",
        "outputs",
        "type",
    )

    def __init__(
        self,
        graph: "Graph",
        op_def: OpDef,
        name: str,
        inputs: Sequence[Output],
        attrs: dict[str, Any],
        output_dtypes: Sequence[DType],
        output_shapes: Sequence[TensorShape | Handle],
        position: user_line.Position | None,
    ) -> None:
        self.graph = graph
        self.op_def = op_def
        self.type = op_def.name
        self.name = name
        self.device = ""
        self.gradient_override: Callable[..., Sequence[Output | None]] | None = None
        self.control_flow: ControlFlow | None = None
        self.construct: Any = None
        self.inputs = tuple(inputs)
        self._attrs = attrs
        self._control_inputs: tuple[Operation, ...] = ()
        self._position = position
        if len(output_dtypes) == 1 == len(output_shapes):
            self.outputs: tuple[Output, ...] = (
                Output(self, 0, output_dtypes[0], output_shapes[0]),
            )
        else:
            pairs = enumerate(zip(output_dtypes, output_shapes, strict=True))
            self.outputs = tuple([Output(self, i, dtype, shape) for i, (dtype, shape) in pairs])
        for output in inputs:
            output._consumers.append(self)

    @property
    def control_inputs(self) -> "list[Operation]":
        """The operations that a step runs before this one."""
        return list(self._control_inputs)

    @property
    def user_line(self) -> str | None:
        """ "file:line" of the user's code that made this operation; None if it is not known."""
        return user_line.describe(self._position)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute; a list is a copy.

        Raises:
            ValueError: the operation has no such attribute.
        """
        try:
            value = self._attrs[name]
        except KeyError:
            raise ValueError(
                located(
                    f"expected one of the attrs {', '.join(sorted(self._attrs))}, got {name!r}",
                    self.type,
                    self.name,
                    self.user_line,
                )
            ) from None
        return list(value) if isinstance(value, list) else value

    @property
    def node_def(self) -> "NodeDef":
        """This operation as a new protocol buffer."""
        from qanat.core.graph_def import node_to_def

        return node_to_def(self)

    def colocation_groups(self) -> list[str]:
        """The names of the operations that this one is to stand with."""
        prefix = "loc:@"
        return [
            text[len(prefix) :]
            for text in map(as_text, self._attrs.get("_class", ()))
            if text.startswith(prefix)
        ]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs it in the given session, or the default one; see `Session.run`."""
        _session_for(self, session).run(self, feed_dict)

    def values(self) -> tuple[Output, ...]:
        return self.outputs

    def _set_device(self, device: str) -> None:
        self.device = device
        self.graph._changed()

    def _set_attr(self, name: str, value: Any) -> None:
        self._attrs[name] = value
        self.graph._changed()

    def _add_control_inputs(self, ops: "Sequence[Operation]") -> None:
        new = dict.fromkeys((*self._control_inputs, *ops))
        self._control_inputs = tuple(new)
        self.graph._changed()

    def _update_input(self, index: int, output: Output) -> None:
        """Makes `output` the input at `index`: how a loop is closed."""
        inputs = list(self.inputs)
        inputs[index]._consumers.remove(self)
        inputs[index] = output
        output._consumers.append(self)
        self.inputs = tuple(inputs)
        self.graph._changed()

    def __repr__(self) -> str:
        return f"<qn.Operation '{self.name}' type={self.type}>"


def _session_for(op: Operation, session: Any) -> Any:
    if session is not None:
        return session
    from qanat.core.session import get_default_session

    default = get_default_session()
    if default is None:
        raise ValueError(
            located(
                "expected a default session: pass session=, or enter `with session.as_default():`",
                op.type,
                op.name,
            )
        )
    return default
