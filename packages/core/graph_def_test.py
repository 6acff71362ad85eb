"""Tests of GraphDefs: out and in again, on the wire, and what is no graph."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, group, identity, no_op, placeholder
from qanat.core.graph import Graph, colocate_with, control_dependencies, device
from qanat.core.graph_def import import_graph_def
from qanat.core.op_def import Handle, In, Operation, Output, Shapes, op
from qanat.core.schema.graph_pb2 import GraphDef
from qanat.core.shapes import TensorShape

Many = Annotated[list[In], "N * T"]
Mixed = Annotated[list[In], "Tlist"]


@op("DefTestSum", outputs="sum: T", T=dtypes.NUMERIC)
def add_n(inputs: Many, *, scale: float = 0.5, shapes: list[TensorShape] = []) -> Shapes:  # noqa: B006
    return [inputs[0].shape]


@op("DefTestTwo", outputs="a: Tlist, b: int32", Tlist=dtypes.ALL)
def two(values: Mixed, *, text: str = "t") -> Shapes:
    return [*(value.shape for value in values), TensorShape([2])]


@op("DefTestHandle", outputs="h: resource", stateful=True, dtype=dtypes.ALL)
def handle(*, dtype: dtypes.DType, shape: TensorShape) -> Shapes:
    return [Handle(dtype, shape)]


def example() -> tuple[Graph, Output]:
    graph = Graph()
    with graph.as_default(), device("/job:worker"):
        x = placeholder("float32", [None, 2], name="x")
        with control_dependencies([no_op(name="first")]):
            y = add_n([x, np.ones((1, 2), np.float32), 2.0], shapes=[[1], None], name="y")
        with graph.name_scope("scope"), colocate_with(y):
            results = two([x, "text", np.array([1, 2], np.int64)], name="z")
        h = handle(dtype="float32", shape=[3], name="h")
        identity(h, name="same")
        last = identity(results[3], name="last")
        group(last, name="all")
    return graph, last


def test_out_and_in_gives_the_same_graph() -> None:
    graph, _ = example()
    proto = graph.as_graph_def(add_shapes=True)
    again = Graph()
    with again.as_default():
        (last, y) = import_graph_def(proto, return_elements=["last:0", "y"], name="") or []
    assert again.as_graph_def(add_shapes=True) == proto
    assert isinstance(last, Output) and last.shape == [2] and isinstance(y, Operation)
    assert [op.name for op in y.control_inputs] == ["first"]
    same = again.get_tensor_by_name("same:0")
    assert same.handle_data == Handle(dtypes.float32, TensorShape([3]))
    assert y.user_line is not None and "graph_def_test.py:" in y.user_line


def test_names_devices_and_colocation_move_into_a_scope() -> None:
    graph, _ = example()
    with Graph().as_default() as target, device("/task:1"):
        assert import_graph_def(graph.as_graph_def()) is None
        import_graph_def(graph.as_graph_def())
    z = target.get_operation_by_name("import/scope/z")
    assert z.device == "/job:worker/task:1" and z.colocation_groups() == ["import/y"]
    assert target.get_operation_by_name("import_1/y").inputs[0].op.name == "import_1/x"


def test_inputs_can_be_mapped() -> None:
    graph, _ = example()
    with Graph().as_default():
        mine, before = constant([[1.0, 2.0]], name="mine"), no_op(name="before")
        inputs = {"x": mine, "^first": before}
        (y,) = import_graph_def(graph.as_graph_def(), inputs, ["y"]) or []
        assert isinstance(y, Operation)
        assert y.inputs[0] is mine and y.control_inputs == [before] and y.outputs[0].shape == [1, 2]
        with pytest.raises(ValueError, match=r"input_map: expected names .*got \['gone:0'\]"):
            import_graph_def(graph.as_graph_def(), {"gone": mine})
        with pytest.raises(ValueError, match="return_elements: .*got 'gone'"):
            import_graph_def(graph.as_graph_def(), return_elements=["gone"])


def test_nodes_may_stand_in_any_order() -> None:
    graph, _ = example()
    proto = graph.as_graph_def()
    shuffled = GraphDef(node=list(proto.node)[::-1], versions=proto.versions)
    with Graph().as_default() as target:
        import_graph_def(shuffled, name="")
    assert {op.name for op in target.get_operations()} == {node.name for node in proto.node}


# x = Placeholder[dtype=float32, shape=[2,?]], with a name for the second size.
PLACEHOLDER = b"".join(
    [
        b"\x0a\x01x",
        b"\x12\x0bPlaceholder",
        b"\x2a\x0b\x0a\x05dtype\x12\x02\x30\x01",
        b"\x2a\x20\x0a\x05shape\x12\x17\x3a\x15",
        b"\x12\x02\x08\x02",
        b"\x12\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02ab",
    ]
)
# y = Identity(x)
IDENTITY = b"".join(
    [
        b"\x0a\x01y",
        b"\x12\x08Identity",
        b"\x1a\x01x",
        b"\x22\x06/cpu:0",
        b"\x2a\x07\x0a\x01T\x12\x02\x30\x01",
    ]
)


def test_as_wire() -> None:
    """Field numbers as in TensorFlow's files, written down by hand."""
    nodes = [b"\x0a" + bytes([len(text)]) + text for text in (PLACEHOLDER, IDENTITY)]
    wire = b"".join(nodes) + b"\x22\x02\x08\x1b"
    proto = GraphDef.FromString(wire)
    assert proto.versions.producer == 27 and len(proto.node) == 2
    with Graph().as_default() as graph:
        import_graph_def(proto, name="")
    y = graph.get_tensor_by_name("y:0")
    assert (y.dtype, y.shape, y.op.device) == (
        dtypes.float32,
        TensorShape([2, None]),
        "/device:CPU:0",
    )


def broken(change: Callable[[GraphDef], Any]) -> GraphDef:
    graph, _ = example()
    proto = graph.as_graph_def()
    change(proto)
    return proto


def node(proto: GraphDef, name: str) -> Any:
    return next(node for node in proto.node if node.name == name)


def set_input(name: str, value: str) -> Callable[[GraphDef], Any]:
    return lambda proto: node(proto, name).input.__setitem__(0, value)


@pytest.mark.parametrize(
    ("change", "error", "expected"),
    [
        (
            lambda p: setattr(node(p, "y"), "op", "DefTestSun"),
            ValueError,
            "did you mean DefTestSum",
        ),
        (
            set_input("y", "gone"),
            ValueError,
            r"\[DefTestSum\] import: expected inputs that are nodes",
        ),
        (set_input("y", "x:1"), ValueError, "expected one of the 1 outputs of 'x', got 'x:1'"),
        (set_input("y", "x:a"), ValueError, "expected one of the 1 outputs"),
        (set_input("last", "last"), ValueError, "need each other in no circle, got input 'last'"),
        (set_input("last", "x"), TypeError, r"input input: expected int32, got <qn.Output 'import"),
        (lambda p: node(p, "y").input.insert(0, "x"), ValueError, "expected 3 inputs .* got 4"),
        (lambda p: node(p, "y").input.append("^gone"), ValueError, "expected control inputs that"),
        (lambda p: node(p, "y").attr["new"].CopyFrom(node(p, "y").attr["T"]), ValueError, "'new'"),
        (lambda p: node(p, "x").attr["dtype"].Clear(), ValueError, "attr dtype: expected an attr"),
        (lambda p: node(p, "x").attr.pop("dtype"), ValueError, "expected the attrs dtype too"),
        (lambda p: setattr(node(p, "x").attr["dtype"], "type", 101), TypeError, "a reference to f"),
        (lambda p: setattr(node(p, "x").attr["dtype"], "type", 77), TypeError, "expected a dtype"),
        (
            lambda p: setattr(node(p, "x").attr["dtype"], "i", 1),
            TypeError,
            "attr dtype: expected an attr of kind type, got int",
        ),
        (lambda p: setattr(node(p, "x"), "device", "/nowhere"), ValueError, "a device name"),
        (
            lambda p: setattr(node(p, "x"), "name", "y"),
            ValueError,
            "names of nodes that are unique, got several named '",
        ),
        (lambda p: setattr(node(p, "x"), "name", "a b"), ValueError, "expected "),
    ],
)
def test_what_is_no_graph(
    change: Callable[[GraphDef], Any], error: type[Exception], expected: str
) -> None:
    with Graph().as_default(), pytest.raises(error, match=expected):
        import_graph_def(broken(change))


def test_what_is_no_graph_def() -> None:
    with pytest.raises(TypeError, match="graph_def: expected a GraphDef, got bytes"):
        import_graph_def(b"")
    graph, _ = example()
    with graph.as_default(), pytest.raises(ValueError, match="a name that is not in the graph"):
        import_graph_def(graph.as_graph_def(), name="")
