"""Tests of values as protocol buffers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qanat.core import dtypes
from qanat.core.attrs import AttrDef, equal
from qanat.core.constants import Array
from qanat.core.dtypes import DType, as_dtype
from qanat.core.proto_values import (
    attr_from_proto,
    attr_to_proto,
    make_ndarray,
    make_tensor_proto,
    shape_from_proto,
    shape_to_proto,
)
from qanat.core.schema.attr_value_pb2 import AttrValue
from qanat.core.schema.tensor_pb2 import TensorProto
from qanat.core.schema.tensor_shape_pb2 import TensorShapeProto
from qanat.core.shapes import TensorShape


@pytest.mark.parametrize("dtype", sorted(dtypes.ALL - {dtypes.resource}, key=str))
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_tensors_of_every_type(dtype: DType, shape: tuple[int, ...]) -> None:
    if dtype is dtypes.string:
        array = np.full(shape, b"a\x00\xff", object)
    else:
        numbers = np.arange(np.prod(shape, dtype=int)) % 2
        array = numbers.reshape(shape).astype(dtype.as_numpy)
    again = make_ndarray(TensorProto.FromString(make_tensor_proto(array).SerializeToString()))
    assert equal(again, array) and not again.flags.writeable


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dtype": 1, "float_val": [1.5]}, np.full((2, 3), 1.5, np.float32)),
        ({"dtype": 3, "int_val": [1, 2]}, np.array([[1, 2, 2], [2, 2, 2]], np.int32)),
        ({"dtype": 9}, np.zeros((2, 3), np.int64)),
        ({"dtype": 7, "string_val": [b"a"]}, np.full((2, 3), b"a", object)),
        ({"dtype": 10, "bool_val": [True]}, np.ones((2, 3), np.bool_)),
        ({"dtype": 8, "scomplex_val": [1, 2]}, np.full((2, 3), 1 + 2j, np.complex64)),
        ({"dtype": 19, "half_val": [0x3C00]}, np.ones((2, 3), np.float16)),
        ({"dtype": 14, "half_val": [0x3F80]}, np.ones((2, 3), as_dtype("bfloat16").as_numpy)),
    ],
)
def test_elements_in_the_fields_of_their_types(fields: dict[str, object], expected: Array) -> None:
    proto = TensorProto(tensor_shape=shape_to_proto([2, 3]), **fields)  # type: ignore[arg-type]
    assert equal(make_ndarray(proto), expected)


@pytest.mark.parametrize(
    ("fields", "error", "expected"),
    [
        ({"dtype": 1, "float_val": [1] * 7}, ValueError, r"expected 6 elements for float32\[2,3\]"),
        ({"dtype": 1, "tensor_content": b"abc"}, ValueError, "whole elements of float32, got 3"),
        ({"dtype": 1, "tensor_content": b"abcd" * 2}, ValueError, "expected 6 elements"),
        ({"dtype": 7, "tensor_content": b"abcd"}, ValueError, "whole elements of string"),
        ({"dtype": 6, "int_val": [300]}, ValueError, "expected values of int8"),
        ({"dtype": 18, "dcomplex_val": [1]}, ValueError, "expected pairs"),
        ({"dtype": 20}, ValueError, "expected a tensor with values"),
        ({"dtype": 0}, TypeError, "expected a dtype"),
    ],
)
def test_what_is_no_tensor(
    fields: dict[str, object], error: type[Exception], expected: str
) -> None:
    proto = TensorProto(tensor_shape=shape_to_proto([2, 3]), **fields)  # type: ignore[arg-type]
    with pytest.raises(error, match=expected):
        make_ndarray(proto)


def test_a_small_message_makes_no_large_array() -> None:
    proto = make_tensor_proto(1.0)
    proto.tensor_shape.CopyFrom(shape_to_proto([2**30, 2**20]))
    assert make_ndarray(proto).strides == (0, 0)


@given(st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(0, 9)))))
def test_shapes(dims: list[int | None] | None) -> None:
    shape = TensorShape(dims)
    assert shape_from_proto(shape_to_proto(shape)) == shape


def test_what_is_no_shape() -> None:
    with pytest.raises(ValueError, match="expected sizes of 0 or more"):
        shape_from_proto(TensorShapeProto(dim=[TensorShapeProto.Dim(size=-2)]))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bool", True),
        ("int", -5),
        ("float", 0.5),
        ("string", "t"),
        ("string", b"\xff"),
        ("type", dtypes.int8),
        ("shape", TensorShape([1, None])),
        ("shape", TensorShape(None)),
        ("tensor", np.array([1, 2])),
        ("list(int)", [1, 2]),
        ("list(int)", []),
        ("list(string)", ["a", "b"]),
        ("list(type)", [dtypes.float32]),
        ("list(shape)", [TensorShape([1]), TensorShape(None)]),
        ("list(float)", [0.5]),
        ("list(bool)", [True, False]),
        ("list(tensor)", [np.array(1.5)]),
    ],
)
def test_attrs(kind: str, value: object) -> None:
    wire = attr_to_proto(value).SerializeToString()
    assert equal(attr_from_proto(AttrValue.FromString(wire), AttrDef("a", kind)), value)


def test_an_attr_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="expected an attr of kind int, got bool"):
        attr_from_proto(AttrValue(b=True), AttrDef("a", "int"))
    with pytest.raises(ValueError, match="expected an attr with a value, got func"):
        attr_from_proto(AttrValue(func={"name": "f"}), None)
