"""Tests of `@op`: what a definition says, and what using it wrongly answers."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.convert import convert_to_tensor, register_tensor_conversion_function
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph
from qanat.core.op_def import Handle, In, Operation, Output, Shapes, lookup, op
from qanat.core.shapes import TensorShape, broadcast

T = Annotated[In, "T"]
Index = Annotated[In, "Tidx"]
Many = Annotated[list[In], "N * T"]
Mixed = Annotated[list[In], "Tlist"]
Resource = Annotated[In, "resource"]


@op("OpTestAdd", outputs="z: T", T=dtypes.NUMERIC)
def add(x: T, y: T) -> Shapes:
    """Sum."""
    return [broadcast(x.shape, y.shape)]


@op("OpTestSum", outputs="sum: T", T=dtypes.NUMERIC, Tidx=(dtypes.INDEX, dtypes.int32))
def reduce_sum(x: T, axis: Index, *, keep_dims: bool = False) -> Shapes:
    return [TensorShape(None) if axis.value is None else TensorShape((int(axis.value.size),))]


@op("OpTestPack", outputs="packed: T", T=dtypes.ALL)
def pack(values: Many, *, axis: int = 0) -> Shapes:
    return [TensorShape((len(values), *values[0].shape))]


@pack.static_value
def _(values: list[In], *, axis: int) -> object:
    known = [value.value for value in values]
    return TensorShape(tuple(None if v is None else int(v) for v in known))


@op("OpTestSplit", outputs="parts: count * T", T=dtypes.ALL)
def split(value: T, *, count: int) -> Shapes:
    return [TensorShape(None)] * count


@op("OpTestTuple", outputs="results: Tlist", Tlist=dtypes.ALL)
def tuple_(values: Mixed) -> Shapes:
    return [value.shape for value in values]


@op("OpTestHandle", outputs="handle: resource", stateful=True)
def handle(*, dtype: DType, shape: TensorShape) -> Shapes:
    return [Handle(dtype, shape)]


@op("OpTestRead", outputs="value: dtype")
def read(resource: Resource, *, dtype: DType) -> Shapes:
    assert resource.handle_dtype is dtype
    return [resource.handle_shape]


@op("OpTestPad", outputs="y: T", T=dtypes.FLOATING)
def padded(
    x: T, *, padding: Literal["SAME", "VALID"], strides: Sequence[int] = (1, 1), name_: str = "a"
) -> Shapes:
    return [x.shape]


@op("OpTestScale", outputs="y: T", T=dtypes.FLOATING)
def scaled(x: T, *, factor: float) -> Shapes:
    return [x.shape]


def graph_of_one() -> Output:
    return placeholder("float32", [2, None], name="x")


def test_a_float_attr_is_what_a_graph_def_holds() -> None:
    with Graph().as_default():
        y = scaled(graph_of_one(), factor=0.2)
        assert y.op.get_attr("factor") == float(np.float32(0.2)) != 0.2
        assert scaled(graph_of_one(), factor=np.inf).op.get_attr("factor") == np.inf
        with pytest.raises(ValueError, match="attr factor: expected a float, got .* a float32"):
            scaled(graph_of_one(), factor=1e300)


def test_builder_adds_a_typed_and_shaped_node() -> None:
    with Graph().as_default():
        x = graph_of_one()
        z = add(x, x, name="sum")
        assert (z.name, z.dtype, z.shape) == ("sum:0", dtypes.float32, TensorShape([2, None]))
        assert z.op.type == "OpTestAdd" and z.op.inputs == (x, x) and z.op.get_attr("T") is x.dtype
        assert add(y=x, x=x).op.inputs == (x, x)
        assert add.__doc__ == "Sum." and "name" in str(add.__signature__)


def test_a_name_may_follow_the_inputs_of_an_op_without_attributes() -> None:
    with Graph().as_default():
        x = graph_of_one()
        assert add(x, x, "sum").name == "sum:0" and add(x, x, None).name == "OpTestAdd:0"
        assert identity(x, "same").name == "same:0"
        with pytest.raises(TypeError, match="expected 2 inputs .* got 4"):
            add(x, x, "a", "b")
        with pytest.raises(TypeError, match="expected 2 inputs .* got 3"):
            add(x, x, "a", name="b")
        with pytest.raises(TypeError, match="attrs and name= are given by name"):
            padded(x, "SAME")


def test_python_values_take_the_type_of_other_inputs() -> None:
    with Graph().as_default():
        x = placeholder("float16", [3])
        z = add(2, x)
        assert z.dtype is dtypes.float16 and z.op.inputs[0].dtype is dtypes.float16
        assert add(1, 2).dtype is dtypes.int32 and add(1.0, 2).dtype is dtypes.float32
        assert add(np.zeros(3), 1).dtype is dtypes.float64
        assert reduce_sum(x, []).op.inputs[1].dtype is dtypes.int32


@pytest.mark.parametrize(
    ("make", "error", "expected"),
    [
        (lambda x: add(x, np.zeros(3)), TypeError, r"\[OpTestAdd\] input y: expected float32"),
        (lambda x: add(x, constant(1)), TypeError, "input y: expected float32.*qn.cast"),
        (lambda x: add(x, True), TypeError, "expected float32, got True of type bool"),
        (lambda x: add(constant(1), 2.5), TypeError, "expected int32, got 2.5 of type float"),
        (
            lambda x: add(constant(1, "int8"), 300),
            ValueError,
            r"expected values of int8 \(-128 to 127",
        ),
        (lambda x: add("a", "b"), TypeError, "expected one of float32, .*got 'a'"),
        (
            lambda x: add(x, constant(1.0, shape=[3, 3])),
            ShapeError,
            r"expected shapes that broadcast .* got \[2,\?\] and \[3,3\]",
        ),
        (lambda x: add(x), TypeError, "expected the inputs y too"),
        (lambda x: add(x, x, x), TypeError, "expected 2 inputs .* got 3"),
        (lambda x: add(x, x, axis=1), TypeError, "expected arguments of OpTestAdd.*got 'axis'"),
        (
            lambda x: reduce_sum(x, 0, keep_dims=1),
            TypeError,
            "attr keep_dims: expected a bool, got 1",
        ),
        (lambda x: padded(x), TypeError, "expected the attrs padding too"),
        (lambda x: padded(x, padding="FULL"), ValueError, "one of 'SAME', 'VALID', got 'FULL'"),
        (
            lambda x: padded(x, padding="SAME", strides=["a"]),
            TypeError,
            "attr strides: expected an int",
        ),
        (lambda x: pack(x), TypeError, "input values: expected a list, got .*Output"),
        (lambda x: pack([]), ValueError, "expected at least one element"),
        (lambda x: pack([x, constant(1)]), TypeError, "expected float32, the type T"),
        (lambda x: identity(object()), TypeError, "expected numbers, bools or strings"),
        (lambda x: split(x, count=2**40), ValueError, "expected a node that fits into memory"),
    ],
)
def test_misuse_is_a_located_error(make: object, error: type[Exception], expected: str) -> None:
    with Graph().as_default(), pytest.raises(error, match=expected) as caught:
        make(graph_of_one())  # type: ignore[operator]
    assert str(caught.value).startswith("[OpTest") or "[Identity]" in str(caught.value)
    assert "made at" in str(caught.value) and "op_def_test.py:" in str(caught.value)


def test_errors_name_the_node() -> None:
    graph = Graph()
    with graph.as_default(), graph.name_scope("layer"):
        with pytest.raises(TypeError, match="node 'layer/sum'"):
            add(1, "a", name="sum")


def test_lists() -> None:
    with Graph().as_default():
        x = graph_of_one()
        packed = pack([x, x, 1.5])
        assert packed.op.get_attr("N") == 3 and packed.shape.dims == (3, 2, None)
        assert len(split(x, count=2)) == 2
        results = tuple_([x, 1, "a"])
        assert [r.dtype.name for r in results] == ["float32", "int32", "string"]
        assert results[0].op.get_attr("Tlist") == [dtypes.float32, dtypes.int32, dtypes.string]


def test_static_values() -> None:
    with Graph().as_default():
        unknown = placeholder("int32", [])
        shape = pack([constant(2), unknown])
        assert In(shape).value is None and In(shape).value_as_shape() == TensorShape([2, None])
        assert In(constant([3, 4])).value_as_shape() == TensorShape([3, 4])
        assert In(placeholder("int32", [2])).value_as_shape() == TensorShape([None, None])
        assert In(placeholder("int32")).value_as_shape() == TensorShape(None)
        whole = pack([2, 3])
        assert np.array_equal(np.asarray(In(whole).value), [2, 3])


def test_handles_say_what_they_refer_to() -> None:
    with Graph().as_default():
        h = handle(dtype="float32", shape=[2, 3])
        assert h.shape == TensorShape([])
        assert h.handle_data == Handle(dtypes.float32, TensorShape([2, 3]))
        assert read(identity(h), dtype="float32").shape == TensorShape([2, 3])


def test_gradient_is_registered_once_and_only_where_allowed() -> None:
    @op("OpTestNeg", outputs="y: T", T=dtypes.NUMERIC)
    def negative(x: T) -> Shapes:
        return [x.shape]

    @negative.gradient
    def rule(op: Operation, grad: Output) -> list[Output]:
        return [grad]

    assert lookup("OpTestNeg").gradient is rule
    with pytest.raises(ValueError, match=r"\[OpTestNeg\] expected one gradient"):
        negative.gradient(rule)
    with pytest.raises(ValueError, match=r"\[Const\]"):
        from qanat.core.base_ops import const

        const.gradient(rule)


def test_wrong_definitions_are_refused() -> None:
    def f(x: int) -> Shapes:
        return []

    with pytest.raises(TypeError, match=r"\[OpTestBad\] input x: expected an annotation such as"):
        op("OpTestBad", outputs="")(f)

    def g(x: T) -> Shapes:
        return []

    with pytest.raises(TypeError, match="expected the dtypes of T"):
        op("OpTestBad", outputs="")(g)
    with pytest.raises(TypeError, match="type attrs U belong to no input"):
        op("OpTestBad", outputs="", T=dtypes.ALL, U=dtypes.ALL)(g)
    with pytest.raises(TypeError, match="'V' is no dtype and no type attr"):
        op("OpTestBad", outputs="y: V", T=dtypes.ALL)(g)
    with pytest.raises(ValueError, match="defined already"):
        op("OpTestAdd", outputs="y: T", T=dtypes.ALL)(g)


def test_lookup_suggests() -> None:
    with pytest.raises(KeyError, match="did you mean.*OpTestAdd"):
        lookup("OpTestAddd")


class Celsius:
    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


def test_registered_types_convert() -> None:
    register_tensor_conversion_function(
        Celsius, lambda value, dtype, name: constant(value.degrees, dtype, name=name)
    )
    with Graph().as_default():
        assert add(graph_of_one(), Celsius(3.0)).dtype is dtypes.float32
        assert convert_to_tensor(Celsius(1.0), "float64").dtype is dtypes.float64
        with pytest.raises(TypeError, match="expected int32, got"):
            convert_to_tensor(constant(1.0), "int32")


def test_inputs_of_two_graphs_are_refused() -> None:
    with Graph().as_default():
        x = graph_of_one()
    with Graph().as_default(), pytest.raises(ValueError, match="of the others' graph"):
        add(x, graph_of_one())


def test_nodes_go_to_the_graph_of_their_inputs() -> None:
    graph = Graph()
    with graph.as_default():
        x = graph_of_one()
    assert add(x, 1.0).graph is graph
