"""The graph that users build, and the scopes it is built in."""

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from qanat.core import user_line
from qanat.core.convert import as_graph_element, convert_to_tensor
from qanat.core.default_graph import entered, get_default_graph, reset_default_graph
from qanat.core.device_name import DeviceName
from qanat.core.graph_keys import GraphKeys
from qanat.core.operation import Operation, Output
from qanat.core.random_seed import get_seed, seed_of_name, set_random_seed
from qanat.core.scopes import (
    ControlFlow,
    ControlScope,
    DeviceRule,
    LocalScopes,
    Names,
    Scopes,
    Surroundings,
    as_device,
    changed,
    check_name,
    require_same_graph,
)
from qanat.core.shapes import TensorShape
from qanat.core.signature import Handle, OpDef

if TYPE_CHECKING:
    from qanat.core.schema.graph_pb2 import GraphDef

__all__ = [
    "Graph",
    "GraphKeys",
    "Operation",
    "Output",
    "add_to_collection",
    "add_to_collections",
    "colocate_with",
    "container",
    "control_dependencies",
    "convert_to_tensor",
    "device",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_seed",
    "name_scope",
    "reset_default_graph",
    "set_random_seed",
]


class Graph:
    """A dataflow graph: operations, and the values that flow between them.

    Any number of threads may add to a graph; scopes (`name_scope`, `device`, ...) belong to the
    thread that entered them.

    Attributes:
        seed: the graph-level random seed; None for none.
    """

    def __init__(self) -> None:
        self.seed: int | None = None
        self._lock = threading.RLock()
        self._ops: dict[str, Operation] = {}
        self._names = Names()
        self._local = LocalScopes()
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False
        self._changes = 0
        self._seeds_given: dict[str, int] = {}

    # Building.

    def add_node(
        self,
        op_def: OpDef,
        inputs: Sequence[Output],
        attrs: dict[str, Any],
        name: str | None = None,
        position: user_line.Position | None = None,
        free: bool = False,
        shapes: Sequence[TensorShape | Handle] | None = None,
    ) -> Operation:
        """Adds an operation; ops are used through the callables that `@op` makes.

        Args:
            op_def: the op.
            inputs: all inputs of it, lists spread out, of the right dtypes.
            attrs: all attributes in checked form. The operation keeps the dict.
            name: made unique within the name scope, unless it ends with "/".
            position: the user's line.
            free: whether control dependencies and colocation around it are no matter to it.
            shapes: of the outputs, where the caller knows them; None to infer them.

        Raises:
            ShapeError: the inputs do not fit.
            RuntimeError: the graph is finalized.
        """
        flow = self._local.scopes.flow
        if flow is not None:
            inputs = flow.capture(inputs)
        if shapes is None:
            shapes = op_def.infer_shapes(inputs, attrs)
        with self._lock:
            if self._finalized:
                raise RuntimeError("expected a graph that may be changed, got a finalized one")
            scopes: Scopes = self._local.scopes
            if name is None:
                full = self._names.unique(scopes.name + op_def.name)
            else:
                full = self._full_name(scopes, name)
            op = Operation(
                self, op_def, full, inputs, attrs, op_def.output_dtypes(attrs), shapes, position
            )
            if not free and not scopes.is_plain:
                scopes.apply(op)
            self._ops[full] = op
            if flow is not None:
                op.control_flow = flow
                flow.adopt(op)
            return op

    def reserve_name(self, name: str) -> str:
        """The whole name that an operation called `name` here would get, which is in use from now
        on. With "/" at its end it is that operation's name.

        Raises:
            ValueError: the name has characters that names may not have.
        """
        with self._lock:
            return self._full_name(self._local.scopes, name)

    def _full_name(self, scopes: Scopes, name: str) -> str:
        check_name(name, scopes.name, "a name")
        if name.endswith("/"):
            if name[:-1] in self._ops:
                return self._names.unique(name[:-1])
            self._names.mark(name[:-1])
            return name[:-1]
        return self._names.unique(scopes.name + name)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` within the current name scope, made unlike all names of the graph."""
        with self._lock:
            return self._names.unique(self._local.scopes.name + name, mark_as_used)

    def seed_of(self, name: str) -> int:
        """A seed for a random op called `name` in the current name scope, new with each call."""
        with self._lock:
            full = self._local.scopes.name + name
            uses = self._seeds_given.get(full, 0)
            self._seeds_given[full] = uses + 1
        return seed_of_name(full, uses)

    def finalize(self) -> None:
        """Makes the graph read-only: adding an operation is an error from now on."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        return self._finalized

    @property
    def version(self) -> int:
        """Grows whenever the graph changes."""
        return len(self._ops) + self._changes

    def _changed(self) -> None:
        """Notes that an existing operation changed, so that plans made before are made anew. Adding
        operations leaves plans as they are: none of the old ones depends on a new one."""
        if self._finalized:
            raise RuntimeError("expected a graph that may be changed, got a finalized one")
        self._changes += 1

    # Looking things up.

    def get_operations(self) -> list[Operation]:
        """All operations in the order they were made."""
        with self._lock:
            return list(self._ops.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            KeyError: there is none.
        """
        op = self._ops.get(name)
        if op is None:
            near = get_close_matches(name, self._ops, n=3)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise KeyError(f"the graph has no operation named {name!r}{hint}")
        return op

    def get_tensor_by_name(self, name: str) -> Output:
        """The output that "operation:index" names.

        Raises:
            KeyError: there is no such operation or output.
            ValueError: the name has another form.
        """
        op_name, colon, index = name.rpartition(":")
        if not colon or not index.isdigit():
            raise ValueError(
                f"expected the name of an output such as '{name or 'x'}:0', got {name!r}"
            )
        op = self.get_operation_by_name(op_name)
        if int(index) >= len(op.outputs):
            raise KeyError(
                f"expected an output of operation {op_name!r} ({op.type}), which has "
                f"{len(op.outputs)}, got {name!r}"
            )
        return op.outputs[int(index)]

    def as_graph_element(
        self, value: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Operation | Output:
        """The Output or Operation of this graph that a value is, stands for, or names.

        Raises:
            TypeError: it is none of these, or of the kind that is not allowed.
            ValueError: it is of another graph.
            KeyError: it names nothing in this graph.
        """
        if isinstance(value, str):
            element: Operation | Output = (
                self.get_tensor_by_name(value)
                if ":" in value
                else self.get_operation_by_name(value)
            )
        else:
            element = as_graph_element(value)
        if not isinstance(element, (Output, Operation)) or not (
            allow_tensor if isinstance(element, Output) else allow_operation
        ):
            accepted = "Output" if allow_tensor else "Operation"
            accepted += " or Operation" if allow_tensor and allow_operation else ""
            raise TypeError(
                f"expected an {accepted} or the name of one, got {value!r} of type "
                f"{type(value).__name__}"
            )
        if element.graph is not self:
            raise ValueError(f"expected an element of this graph, got {value!r} of another graph")
        return element

    def as_graph_def(self, add_shapes: bool = False) -> "GraphDef":
        """The graph as a protocol buffer, which `import_graph_def` and TensorFlow read.

        Args:
            add_shapes: whether each node gets its static shapes as the attr "_output_shapes".
        """
        from qanat.core.graph_def import graph_to_def

        return graph_to_def(self, add_shapes)

    # Scopes.

    def as_default(self) -> "AbstractContextManager[Graph]":
        """Makes this the graph that new operations of this thread go to, within the block."""
        return entered(self)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Puts `name/` in front of the names of operations made within the block.

        The scope is made unique; a name that ends with "/" enters an existing scope again; None or
        "" leaves all scopes. Gives the whole prefix, which may be passed as an operation's name.

        Raises:
            ValueError: the name has characters that names may not have.
        """
        scopes = self._local.scopes
        if not name:
            prefix = ""
        else:
            check_name(name, scopes.name, "a scope")
            prefix = name if name.endswith("/") else self.unique_name(name) + "/"
        with changed(scopes, name=prefix):
            yield prefix

    def get_name_scope(self) -> str:
        """The current name scope, without "/" at its end; "" at the root."""
        return self._local.scopes.name[:-1]

    def device(self, spec: "str | DeviceRule | None") -> AbstractContextManager[None]:
        """Constrains the devices of operations made within the block.

        Args:
            spec: a whole or partial device name, whose parts win over those of outer blocks; or a
                function that is given each new operation, with the device that inner blocks say,
                and gives such a name, or None for no constraint; None drops all constraints.

        Raises:
            ValueError: it is no device name.
        """
        scopes = self._local.scopes
        if spec is None:
            return changed(scopes, devices=())
        rule = as_device(spec) if isinstance(spec, str) else spec
        outer = scopes.devices
        if outer and isinstance(rule, DeviceName) and isinstance(outer[-1], DeviceName):
            return changed(scopes, devices=(*outer[:-1], outer[-1].merge(rule)))
        return changed(scopes, devices=(*outer, rule))

    def device_of(self, op: Operation) -> AbstractContextManager[None]:
        """Gives operations made within the block the constraint that `op` has, and no other: what
        uses a resource is where that is, whatever blocks there are around.
        """
        rules = (as_device(op.device),) if op.device else ()
        return changed(self._local.scopes, devices=rules, colocate=())

    def control_dependencies(
        self, control_inputs: Iterable[Any] | None
    ) -> AbstractContextManager[None]:
        """Makes operations created within the block run after `control_inputs`.

        Args:
            control_inputs: Operations, Outputs, or what stands for them; None drops all control
                dependencies within the block, and leaves all branches and loops.

        Raises:
            TypeError: they are no list, or something else is among them.
            ValueError: one is of another graph.
        """
        scopes = self._local.scopes
        if control_inputs is None:
            return changed(scopes, control=(), flow=None)
        if isinstance(control_inputs, (str, Output, Operation)):
            raise TypeError(f"control_inputs: expected a list, got {control_inputs!r}")
        elements = [self.as_graph_element(value) for value in control_inputs]
        ops = dict.fromkeys(e.op if isinstance(e, Output) else e for e in elements)
        if not ops:
            return nullcontext()
        return changed(scopes, control=(*scopes.control, ControlScope(tuple(ops))))

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
        """Makes operations created within the block stand on the device of `op`.

        Args:
            op: an Operation, Output, or what stands for one; None leaves all colocation.
            ignore_existing: whether colocation of outer blocks ends here.
        """
        scopes = self._local.scopes
        if op is None:
            return changed(scopes, colocate=())
        element = self.as_graph_element(op)
        target = element.op if isinstance(element, Output) else element
        outer = () if ignore_existing else scopes.colocate
        return changed(scopes, colocate=(*outer, target))

    def container(self, name: str) -> AbstractContextManager[None]:
        """Puts variables and queues made within the block into the container `name`, which sessions
        that share it see, and which can be cleared alone."""
        return changed(self._local.scopes, container=name)

    def get_container(self) -> str:
        """The current container; "" is the default one."""
        return self._local.scopes.container

    # Control flow: who builds branches and loops says which operations are in them.

    def surroundings(self) -> Surroundings:
        """What operations made here take over from around them."""
        scopes = self._local.scopes
        return Surroundings(scopes.flow, scopes.control, scopes.colocate)

    def surrounded_by(self, surroundings: Surroundings) -> AbstractContextManager[None]:
        """Makes operations within the block as if they were made where those surroundings were."""
        return changed(self._local.scopes, **surroundings._asdict())

    def within(self, flow: ControlFlow | None) -> AbstractContextManager[None]:
        """Makes operations within the block belong to a branch or loop, or to none. They wait for
        it, and not for what it waits for."""
        return changed(self._local.scopes, flow=flow, control=(), colocate=())

    # Collections.

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Appends a value to the collection `name`, such as one of GraphKeys."""
        with self._lock:
            if self._finalized:
                raise RuntimeError("expected a graph that may be changed, got a finalized one")
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Appends a value to each of the collections; `names` is one name or several."""
        for name in [names] if isinstance(names, str) else dict.fromkeys(names or ()):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """The values in a collection, a new list.

        Args:
            scope: a regular expression; only values whose name it matches, from the start.
        """
        with self._lock:
            values = list(self._collections.get(name, ()))
        if scope is None:
            return values
        pattern = re.compile(scope)
        return [v for v in values if pattern.match(getattr(v, "name", "") or "")]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: changes to the list change it."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_all_collection_keys(self) -> list[str]:
        with self._lock:
            return [
                name
                for name, values in self._collections.items()
                if values and isinstance(name, str)
            ]

    def clear_collection(self, name: Any) -> None:
        with self._lock:
            self._collections.pop(name, None)

    def __repr__(self) -> str:
        return f"<qn.Graph of {len(self._ops)} operations>"


@contextmanager
def name_scope(
    name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
) -> Iterator[str]:
    """Puts a prefix in front of the names of operations made within the block.

    Args:
        name: the scope; see `Graph.name_scope`.
        default_name: used where `name` is None, as functions do with their `name` argument.
        values: Outputs whose graph is the one to use; all must be of one graph.

    Raises:
        ValueError: the values are of several graphs, or the name is not valid.
    """
    outputs: list[Any] = [value for value in values or () if isinstance(value, (Output, Operation))]
    graph = outputs[0].graph if outputs else get_default_graph()
    require_same_graph(graph, outputs)
    with graph.as_default(), graph.name_scope(default_name if name is None else name) as prefix:
        yield prefix


def device(spec: "str | DeviceRule | None") -> AbstractContextManager[None]:
    """`Graph.device` of the default graph."""
    return get_default_graph().device(spec)


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[None]:
    """`Graph.control_dependencies` of the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """`Graph.colocate_with` of the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def container(name: str) -> AbstractContextManager[None]:
    """`Graph.container` of the default graph."""
    return get_default_graph().container(name)


def add_to_collection(name: Any, value: Any) -> None:
    """`Graph.add_to_collection` of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """`Graph.add_to_collections` of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(name: Any, scope: str | None = None) -> list[Any]:
    """`Graph.get_collection` of the default graph."""
    return get_default_graph().get_collection(name, scope)


def get_collection_ref(name: Any) -> list[Any]:
    """`Graph.get_collection_ref` of the default graph."""
    return get_default_graph().get_collection_ref(name)
