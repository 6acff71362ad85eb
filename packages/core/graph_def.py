"""Graphs as GraphDefs, the form in which they are stored and exchanged, and back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from qanat.core.attrs import as_text
from qanat.core.default_graph import get_default_graph
from qanat.core.device_name import DeviceName
from qanat.core.errors import located
from qanat.core.operation import Operation, Output
from qanat.core.ordering import postorder
from qanat.core.passes.flow import closes_loop
from qanat.core.signature import OpDef, is_registered, lookup
from qanat.core.user_line import Position, capture

if TYPE_CHECKING:
    from qanat.core.graph import Graph
    from qanat.core.schema.graph_pb2 import GraphDef
    from qanat.core.schema.node_def_pb2 import NodeDef

# The version of TensorFlow's GraphDef that the ops here follow, and the oldest reader of it.
PRODUCER: Final = 27
MIN_CONSUMER: Final = 12


def graph_to_def(graph: "Graph", add_shapes: bool = False) -> "GraphDef":
    """`Graph.as_graph_def`."""
    from qanat.core.schema import graph_pb2

    proto = graph_pb2.GraphDef()
    proto.versions.producer = PRODUCER
    proto.versions.min_consumer = MIN_CONSUMER
    for op in graph.get_operations():
        _write_node(op, proto.node.add(), add_shapes)
    return proto


def node_to_def(op: Operation) -> "NodeDef":
    """`Operation.node_def`."""
    from qanat.core.schema import node_def_pb2

    proto = node_def_pb2.NodeDef()
    _write_node(op, proto, add_shapes=False)
    return proto


def _write_node(op: Operation, node: "NodeDef", add_shapes: bool) -> None:
    from qanat.core.proto_values import attr_to_proto

    node.name = op.name
    node.op = op.type
    node.device = op.device
    for output in op.inputs:
        node.input.append(output.name if output.index else output.op.name)
    node.input.extend([f"^{other.name}" for other in op.control_inputs])
    for name, value in sorted(op._attrs.items()):
        node.attr[name].CopyFrom(attr_to_proto(value))
    if add_shapes and op.outputs:
        shapes = [output.shape for output in op.outputs]
        node.attr["_output_shapes"].CopyFrom(attr_to_proto(shapes))


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
) -> list[Operation | Output] | None:
    """Adds the operations of a GraphDef to the default graph.

    Args:
        graph_def: a GraphDef, Qanat's or TensorFlow's.
        input_map: Outputs to take in place of the GraphDef's own, by name ("x:0", "x"); Operations
            by "^name" for control inputs.
        return_elements: names in the GraphDef of Operations ("x") and Outputs ("x:0") to return.
        name: the name scope to put them in; "import" by default, "" for none.

    Returns:
        What `return_elements` names, in order; None without it.

    Raises:
        TypeError, ValueError: it is no GraphDef, or not one that can be built here: an op nobody
            has defined, an input that does not exist or has another dtype, a circle. The message
            names the node. Nothing has been added then, save nodes that stood before it.
    """
    importer = _Importer(get_default_graph(), _as_graph_def(graph_def), input_map or {}, capture())
    importer.run("import" if name is None else name)
    if return_elements is None:
        return None
    return [importer.element(element) for element in return_elements]


def _as_graph_def(value: Any) -> "GraphDef":
    from qanat.core.schema import graph_pb2

    if isinstance(value, graph_pb2.GraphDef):
        return value
    if type(value).__name__ != "GraphDef" or not hasattr(value, "SerializeToString"):
        raise TypeError(f"graph_def: expected a GraphDef, got {type(value).__name__}")
    return graph_pb2.GraphDef.FromString(value.SerializeToString())


class _Importer:
    """The state of one import."""

    def __init__(
        self,
        graph: "Graph",
        graph_def: "GraphDef",
        input_map: Mapping[str, Any],
        position: Position | None,
    ) -> None:
        self._graph = graph
        self._position = position
        self._nodes = {node.name: node for node in graph_def.node}
        if len(self._nodes) != len(graph_def.node):
            names = Counter(node.name for node in graph_def.node)
            raise ValueError(
                "graph_def: expected names of nodes that are unique, got several named "
                f"{names.most_common(1)[0][0]!r}"
            )
        self._map = {_canonical(key): value for key, value in input_map.items()}
        self._used: set[str] = set()
        # Inputs that close a loop: (operation, number of the input, name).
        self._back_edges: list[tuple[Operation, int, str]] = []
        self._ops: dict[str, Operation] = {}

    def run(self, scope: str) -> None:
        order = postorder(self._nodes, self._needs)
        with self._graph.as_default(), self._graph.name_scope(scope or None) as prefix:
            if not scope:
                prefix = ""
            for name in order:
                node = self._nodes[name]
                try:
                    self._ops[name] = self._add(node, prefix)
                except (TypeError, ValueError) as error:
                    if str(error).startswith("["):
                        raise
                    raise type(error)(located(f"import: {error}", node.op, name)) from error
        self._close_loops()
        unused = sorted(set(self._map) - self._used)
        if unused:
            raise ValueError(
                f"input_map: expected names that are inputs in graph_def, got {unused}"
            )

    def _close_loops(self) -> None:
        for op, i, text in self._back_edges:
            output = self._input(text)
            if output.dtype is not op.inputs[i].dtype:
                message = f"import: input {text!r}: expected {op.inputs[i].dtype}, got {output!r}"
                raise TypeError(located(message, op.type, op.name))
            op._update_input(i, output)

    def element(self, name: str) -> Operation | Output:
        """What a name in the GraphDef became."""
        if not isinstance(name, str):
            raise TypeError(f"return_elements: expected names, got {name!r}")
        node, colon, index = name.partition(":")
        op = self._ops.get(node)
        if op is None or (colon and not (index.isdigit() and int(index) < len(op.outputs))):
            raise ValueError(f"return_elements: expected names in graph_def, got {name!r}")
        return op.outputs[int(index)] if colon else op

    def _needs(self, name: str) -> list[str]:
        node = self._nodes[name]
        needed = []
        for text in node.input:
            if _canonical(text) not in self._map and not self._is_back_edge(node, text):
                needed.append(text.removeprefix("^").partition(":")[0])
        return [other for other in needed if other in self._nodes]

    def _is_back_edge(self, node: "NodeDef", text: str) -> bool:
        """Whether an input, which may be a control input, closes a loop."""
        other = self._nodes.get(text.partition(":")[0])
        if other is None or _canonical(text) in self._map:
            return False
        ops = (node.op, other.op)
        return all(map(is_registered, ops)) and closes_loop(*map(lookup, ops))

    def _add(self, node: "NodeDef", prefix: str) -> Operation:
        try:
            op_def = lookup(node.op)
        except KeyError as error:
            raise ValueError(error.args[0]) from None
        data = [text for text in node.input if not text.startswith("^")]
        behind = {i: text for i, text in enumerate(data) if self._is_back_edge(node, text)}
        inputs = [self._input(text) for i, text in enumerate(data) if i not in behind]
        if behind and not inputs:
            raise ValueError("expected a value that the loop begins with, got none")
        for i in behind:  # a stand-in: what closes the loop does not exist yet
            inputs.insert(i, inputs[0])
        attrs = _attrs(node, op_def, prefix)
        _check_inputs(op_def, inputs, attrs)
        if prefix + node.name in self._graph._ops:
            raise ValueError(
                f"expected a name that is not in the graph, got {prefix + node.name!r}"
            )
        op = self._graph.add_node(op_def, inputs, attrs, prefix + node.name + "/", self._position)
        self._back_edges += [(op, i, text) for i, text in behind.items()]
        controls = [self._control(text) for text in node.input if text.startswith("^")]
        if controls:
            op._add_control_inputs(controls)
        if node.device:
            own = DeviceName.from_string(node.device)
            op.device = str(DeviceName.from_string(op.device).merge(own))
        return op

    def _input(self, text: str) -> Output:
        key = _canonical(text)
        if key in self._map:
            self._used.add(key)
            element = self._graph.as_graph_element(self._map[key], allow_operation=False)
        else:
            element = self._own_output(text)
        if not isinstance(element, Output):
            raise TypeError(f"input {text!r}: expected an Output, got {element!r}")
        return element

    def _own_output(self, text: str) -> Output:
        name, _, index = text.partition(":")
        number = int(index) if index.isdigit() else 0 if not index else -1
        if name not in self._nodes:
            raise ValueError(f"expected inputs that are nodes of graph_def, got {text!r}")
        if name not in self._ops:
            raise ValueError(
                f"expected nodes that need each other in no circle, got input {text!r}"
            )
        outputs = self._ops[name].outputs
        if not 0 <= number < len(outputs):
            raise ValueError(
                f"expected one of the {len(outputs)} outputs of {name!r}, got {text!r}"
            )
        return outputs[number]

    def _control(self, text: str) -> Operation:
        if text in self._map:
            self._used.add(text)
            element = self._graph.as_graph_element(self._map[text])
            return element.op if isinstance(element, Output) else element
        if text[1:] not in self._ops:
            raise ValueError(f"expected control inputs that stand in graph_def, got {text!r}")
        return self._ops[text[1:]]


def _canonical(name: str) -> str:
    return name if name.startswith("^") or ":" in name else name + ":0"


def _attrs(node: "NodeDef", op_def: OpDef, prefix: str) -> dict[str, Any]:
    from qanat.core.proto_values import attr_from_proto

    attrs = dict(op_def.defaults)
    for name, proto in node.attr.items():
        definition = op_def.attrs.get(name)
        if definition is None and not name.startswith("_"):
            raise ValueError(f"expected the attrs of {op_def}, got {name!r}")
        try:
            attrs[name] = attr_from_proto(proto, definition)
        except (TypeError, ValueError) as error:
            text = str(error)
            raise type(error)(
                text if text.startswith("attr ") else f"attr {name}: {text}"
            ) from None
    missing = [name for name in op_def.attrs if name not in attrs]
    if missing:
        raise ValueError(f"expected the attrs {', '.join(missing)} too, for {op_def}")
    if "_class" in attrs:
        attrs["_class"] = [_prefixed(as_text(label), prefix) for label in attrs["_class"]]
    attrs.pop("_output_shapes", None)
    return attrs


def _prefixed(label: str, prefix: str) -> str:
    return f"loc:@{prefix}{label[5:]}" if label.startswith("loc:@") else label


def _check_inputs(op_def: OpDef, inputs: Sequence[Output], attrs: Mapping[str, Any]) -> None:
    expected = [(arg, dtype) for arg in op_def.inputs for dtype in arg.dtypes(attrs)]
    if len(expected) != len(inputs):
        raise ValueError(f"expected {len(expected)} inputs for {op_def}, got {len(inputs)}")
    for (arg, dtype), output in zip(expected, inputs, strict=True):
        if output.dtype is not dtype:
            raise TypeError(f"input {arg.name}: expected {dtype}, got {output!r}")
