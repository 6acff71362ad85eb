"""Tests of graphs, scopes, operations and outputs."""

import threading

import numpy as np
import pytest

from qanat.core.base_ops import (
    constant,
    group,
    identity,
    no_op,
    placeholder,
    placeholder_with_default,
)
from qanat.core.errors import ShapeError
from qanat.core.graph import (
    Graph,
    GraphKeys,
    Operation,
    Output,
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_default_graph,
    get_seed,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from qanat.core.op_def import In, Shapes, op
from qanat.core.shapes import TensorShape


def test_default_graph_is_a_stack_a_thread() -> None:
    outer = get_default_graph()
    seen: list[Graph] = []
    with Graph().as_default() as graph:
        assert get_default_graph() is graph
        thread = threading.Thread(target=lambda: seen.append(get_default_graph()))
        thread.start()
        thread.join()
        with pytest.raises(ValueError, match="reset_default_graph"):
            reset_default_graph()
    assert get_default_graph() is outer and seen == [outer]
    reset_default_graph()
    assert get_default_graph() is not outer


def test_names_are_unique_whatever_their_case() -> None:
    with Graph().as_default() as graph:
        names = [no_op(name=name).name for name in ("a", "a", "A", "a_1", "b/c")]
        assert names == ["a", "a_1", "A_2", "a_1_1", "b/c"]
        assert graph.unique_name("a", mark_as_used=False) == graph.unique_name("a") == "a_3"
        assert no_op().name == "NoOp" and no_op().name == "NoOp_1"


def test_name_scopes() -> None:
    with Graph().as_default() as graph:
        with name_scope("layer") as scope:
            assert scope == "layer/" and no_op(name="a").name == "layer/a"
            with name_scope("inner"):
                assert no_op().name == "layer/inner/NoOp"
                assert graph.get_name_scope() == "layer/inner"
                with graph.name_scope(None):
                    assert no_op(name="root").name == "root"
        with name_scope("layer"):
            assert no_op(name="a").name == "layer_1/a"
        with name_scope(scope):
            assert no_op(name="a").name == "layer/a_1"
        with name_scope(None, "default", [constant(1)]) as scope:
            assert no_op(name=scope).name == "default"
        with pytest.raises(ValueError, match="expected a scope of letters"):
            with name_scope("a b"):
                pass
        with pytest.raises(ValueError, match="expected a name of letters.*got 'a b'"):
            no_op(name="a b")
        with pytest.raises(TypeError, match="expected a string as a name, got 3"):
            no_op(name=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="expected a string as a scope, got 3"):
            with name_scope(3):  # type: ignore[arg-type]
                pass


def test_look_ups() -> None:
    with Graph().as_default() as graph:
        x = placeholder("float32", name="inputs/x")
        assert graph.get_operation_by_name("inputs/x") is x.op
        assert graph.get_tensor_by_name("inputs/x:0") is x
        assert graph.as_graph_element("inputs/x") is x.op and graph.as_graph_element(x) is x
        with pytest.raises(
            KeyError, match="no operation named 'inputs/X'; did you mean 'inputs/x'"
        ):
            graph.get_operation_by_name("inputs/X")
        with pytest.raises(KeyError, match="which has 1, got 'inputs/x:1'"):
            graph.get_tensor_by_name("inputs/x:1")
        with pytest.raises(ValueError, match="such as 'inputs/x:0'"):
            graph.get_tensor_by_name("inputs/x")
        with pytest.raises(TypeError, match="expected an Output"):
            graph.as_graph_element(x.op, allow_operation=False)
    with pytest.raises(ValueError, match="of another graph"):
        Graph().as_graph_element(x)


def test_control_dependencies() -> None:
    with Graph().as_default():
        a, b = no_op(name="a"), constant(1, name="b")
        with control_dependencies([a, b]):
            c = no_op()
            assert c.control_inputs == [a, b.op]
            d = identity(b)
            assert d.op.control_inputs == [a]
            assert identity(d).op.control_inputs == []  # waits through d
            with control_dependencies([c]):
                assert no_op().control_inputs == [a, b.op, c]
            with control_dependencies(None):
                assert no_op().control_inputs == []
        assert group(a, [b, None], c).control_inputs == [a, b.op, c]
        with pytest.raises(TypeError, match="expected an Output, an Operation or"):
            with control_dependencies([3]):
                pass
        with pytest.raises(
            TypeError, match="control_inputs: expected a list, got <qn.Output 'Ident"
        ):
            with control_dependencies(d):
                pass


def test_devices() -> None:
    with Graph().as_default():
        with device("/job:ps/task:1"):
            with device("/cpu:0"):
                assert no_op().device == "/job:ps/task:1/device:CPU:0"
            with device("/task:2"):
                assert no_op().device == "/job:ps/task:2"
            with device(None):
                assert no_op().device == ""
        with pytest.raises(ValueError, match="expected a device name"):
            device("/nowhere")


def test_colocation() -> None:
    with Graph().as_default():
        with device("/cpu:1"):
            a = no_op(name="a")
        with colocate_with(a):
            b = constant(1, name="b")
            assert b.op.colocation_groups() == ["a"] and b.op.device == "/device:CPU:1"
            with colocate_with(b):
                assert no_op().colocation_groups() == ["a"]
            with colocate_with(None):
                assert no_op().colocation_groups() == []


def test_collections_and_containers() -> None:
    with Graph().as_default() as graph:
        x, y = constant(1, name="x"), constant(1, name="y")
        add_to_collection(GraphKeys.LOSSES, x)
        add_to_collections([GraphKeys.LOSSES, "mine", "mine"], y)
        assert get_collection("losses") == [x, y] and get_collection("mine") == [y]
        assert get_collection("losses", scope="y") == [y]
        get_collection("losses").clear()
        assert len(graph.get_collection_ref("losses")) == 2
        assert graph.get_all_collection_keys() == ["losses", "mine"]
        graph.clear_collection("mine")
        assert get_collection("mine") == [] and graph.get_container() == ""
        with container("c"):
            assert graph.get_container() == "c"


def test_finalized_graphs_do_not_change() -> None:
    with Graph().as_default() as graph:
        x = constant(1)
        graph.finalize()
        for change in (no_op, lambda: x.op._set_attr("a", 1), lambda: add_to_collection("a", 1)):
            with pytest.raises(RuntimeError, match="finalized"):
                change()
        assert graph.finalized and graph.version == 1


def test_threads_may_build_one_graph() -> None:
    graph = Graph()

    def build() -> None:
        with graph.as_default(), name_scope("t"):
            for _ in range(200):
                identity(constant(1))

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [operation.name for operation in graph.get_operations()]
    assert len(set(names)) == len(names) == 1600


def test_outputs() -> None:
    with Graph().as_default():
        x = placeholder("float32", [None, 3], name="x")
        y = identity(x)
        assert identity(x).op in x.consumers() and x.consumers()[0] is y.op
        x.set_shape([2, None])
        assert x.shape == [2, 3] and {x: 1}[x] == 1 and x != y
        with pytest.raises(
            ShapeError, match=r"\[Placeholder\] set_shape: .*\[2,3\] and \[4,3\].*made at"
        ):
            x.set_shape([4, 3])
        with pytest.raises(TypeError, match="has no truth value"):
            bool(x)
        with pytest.raises(TypeError, match="is no NumPy array"):
            np.asarray(x)
        with pytest.raises(TypeError, match="no len"):
            len(x)
        with pytest.raises(TypeError, match="`in` cannot look"):
            1.0 in x  # noqa: B015
        with pytest.raises(TypeError, match="cannot be iterated"):
            iter(placeholder("float32", [None]))
        with pytest.raises(ValueError, match="expected a default session"):
            x.eval()


def test_operations() -> None:
    with Graph().as_default():
        x = constant([1, 2], name="x")
        assert x.op.get_attr("dtype").name == "int32" and x.op.node_def.op == "Const"
        with pytest.raises(ValueError, match="expected one of the attrs dtype, value, got 'T'"):
            x.op.get_attr("T")
        assert x.op.user_line is not None and "graph_test.py:" in x.op.user_line
        assert isinstance(x.op, Operation) and isinstance(x, Output)
        with pytest.raises(ValueError, match="read-only"):
            x.op.get_attr("value")[0] = 5


def test_constants() -> None:
    with Graph().as_default():
        assert constant([1, 2], shape=[2, 2]).op.get_attr("value").tolist() == [[1, 2], [2, 2]]
        assert constant(np.float64(1), "float32").dtype.name == "float32"
        assert constant(1.0, shape=[2, 0]).op.get_attr("value").shape == (2, 0)
        with pytest.raises(
            ShapeError, match=r"\[Const\] expected a value for shape \[1\], got one of"
        ):
            constant([1, 2], shape=[1], name="c")
        assert placeholder_with_default([1.0], [None]).shape == TensorShape([None])
        with pytest.raises(ShapeError, match=r"expected a default of shape \[2\], got \[1\]"):
            placeholder_with_default([1.0], [2])


def test_changes_of_operations_are_counted_and_additions_are_not() -> None:
    with Graph().as_default() as graph:
        a, b = no_op(), no_op()
        before = graph._changes
        no_op()
        assert graph._changes == before
        a._add_control_inputs([b])
        assert graph._changes == before + 1 and graph.version == 4


def test_seeds_depend_on_names_alone() -> None:
    def seeds(extra: bool) -> list[tuple[int, int]]:
        with Graph().as_default():
            set_random_seed(7)
            if extra:
                get_seed(None, "other")
            with name_scope("layer"):
                return [get_seed(None, "w"), get_seed(None, "w"), get_seed(3)]

    first = seeds(False)
    assert first == seeds(True) and first[0] != first[1] and first[2] == (7, 3)
    with Graph().as_default():
        assert get_seed(None) == (0, 0) and get_seed(5)[1] == 5
        set_random_seed(0)
        assert get_seed(0) != (0, 0)


@op("TestSource", outputs="a: float32, b: int32", stateful=True)
def source() -> Shapes:
    return [TensorShape([1]), TensorShape([])]


def test_several_outputs() -> None:
    with Graph().as_default():
        a, b = source(name="s")
        assert (a.name, b.name, b.index) == ("s:0", "s:1", 1)
        assert In(b).value is None
