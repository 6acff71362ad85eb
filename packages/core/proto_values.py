"""Shapes, tensors and attributes as protocol buffers, and back. Nothing read is trusted."""

from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.attrs import AttrDef
from qanat.core.constants import Array, to_array
from qanat.core.dtypes import DType, as_dtype
from qanat.core.schema import attr_value_pb2, tensor_pb2, tensor_shape_pb2
from qanat.core.shapes import ShapeLike, TensorShape, as_shape

# Where the elements of a tensor stand that has no tensor_content.
_FIELDS: Final = {
    "float32": "float_val",
    "float64": "double_val",
    "int32": "int_val",
    "int16": "int_val",
    "int8": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "complex128": "dcomplex_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def shape_to_proto(shape: ShapeLike) -> tensor_shape_pb2.TensorShapeProto:
    """A shape for the wire, -1 for unknown sizes."""
    dims = as_shape(shape).dims
    if dims is None:
        return tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
    dim = tensor_shape_pb2.TensorShapeProto.Dim
    return tensor_shape_pb2.TensorShapeProto(
        dim=[dim(size=-1 if size is None else size) for size in dims]
    )


def shape_from_proto(proto: tensor_shape_pb2.TensorShapeProto) -> TensorShape:
    """The shape that a proto holds.

    Raises:
        ShapeError: a size is below -1, or there are more elements than an int64 counts.
    """
    return TensorShape(None if proto.unknown_rank else tuple(dim.size for dim in proto.dim))


def make_tensor_proto(
    values: Any, dtype: Any = None, shape: ShapeLike = None
) -> tensor_pb2.TensorProto:
    """A value as a TensorProto.

    Args:
        values: what `constant` accepts.
        dtype: the type to have.
        shape: to have; as many elements as `values` has.

    Raises:
        TypeError: the values are of another kind.
        ValueError: there are more or fewer of them than `shape` says.
    """
    array = to_array(values, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        array = array.reshape(as_shape(shape).dims)
    kind = as_dtype(array.dtype)
    number: Any = kind.number
    proto = tensor_pb2.TensorProto(dtype=number, tensor_shape=shape_to_proto(array.shape))
    if kind is dtypes.string:
        proto.string_val.extend(array.ravel().tolist())
    else:
        little = array.dtype.newbyteorder("<") if array.dtype.isbuiltin == 1 else array.dtype
        proto.tensor_content = array.astype(little).tobytes()
    return proto


def make_ndarray(tensor: tensor_pb2.TensorProto) -> Array:
    """The value that a TensorProto holds, read-only.

    Raises:
        TypeError: it is of a type that Qanat does not have.
        ValueError: it holds more or fewer elements than its shape says.
    """
    dtype = as_dtype(tensor.dtype)
    shape = shape_from_proto(tensor.tensor_shape)
    dims: Any = shape.dims
    count = shape.num_elements()
    if count is None or dtype is dtypes.resource:
        raise ValueError(f"expected a tensor with values of known shape, got {dtype}{shape}")
    array = _content(tensor, dtype) if tensor.tensor_content else _elements(tensor, dtype)
    if array.size == count:
        result = array.reshape(dims)
    elif array.size == 1 or (array.size == 0 and not tensor.tensor_content):
        one = array.reshape(()) if array.size else _zero(dtype)
        result = np.broadcast_to(one, dims)
    elif array.size < count and not tensor.tensor_content:
        result = np.concatenate([array, np.broadcast_to(array[-1], count - array.size)])
        result = result.reshape(dims)
    else:
        raise ValueError(f"expected {count} elements for {dtype}{shape}, got {array.size}")
    result.flags.writeable = False
    return result


def _zero(dtype: DType) -> Array:
    if dtype is dtypes.string:
        return to_array(b"")
    return np.zeros((), dtype.as_numpy)


def _content(tensor: tensor_pb2.TensorProto, dtype: DType) -> Array:
    content = tensor.tensor_content
    if dtype is dtypes.string or len(content) % dtype.size:
        raise ValueError(f"expected whole elements of {dtype}, got {len(content)} bytes")
    numpy_dtype = dtype.as_numpy
    if numpy_dtype.isbuiltin == 1:
        return np.frombuffer(content, numpy_dtype.newbyteorder("<")).astype(numpy_dtype)
    return np.frombuffer(content, np.uint16).view(numpy_dtype)


def _elements(tensor: tensor_pb2.TensorProto, dtype: DType) -> Array:
    values = getattr(tensor, _FIELDS[dtype.name])
    if dtype is dtypes.string:
        array = np.empty(len(values), object)
        array[:] = list(values)
        return array
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return np.array(values, np.int64).astype(np.uint16).view(dtype.as_numpy)
    if dtype.is_complex:
        parts = np.array(values, np.float32 if dtype is dtypes.complex64 else np.float64)
        if parts.size % 2:
            raise ValueError(f"expected pairs of numbers for {dtype}, got {parts.size} numbers")
        return parts.view(dtype.as_numpy)
    try:
        return np.array(list(values), dtype.as_numpy)
    except OverflowError:
        raise ValueError(f"expected values of {dtype}, got some out of range") from None


def attr_to_proto(value: Any) -> attr_value_pb2.AttrValue:
    """A checked attr value for the wire."""
    proto = attr_value_pb2.AttrValue()
    if isinstance(value, list):
        proto.list.SetInParent()
        for element in value:
            field, wire = _scalar_to_proto(element)
            getattr(proto.list, field).append(wire)
        return proto
    field, wire = _scalar_to_proto(value)
    if field in ("shape", "tensor"):
        getattr(proto, field).CopyFrom(wire)
    else:
        setattr(proto, field, wire)
    return proto


def _scalar_to_proto(value: Any) -> tuple[str, Any]:
    """The field of AttrValue, and what to put there."""
    if isinstance(value, bool):
        return "b", value
    if isinstance(value, int):
        return "i", value
    if isinstance(value, float):
        return "f", value
    if isinstance(value, (str, bytes)):
        return "s", value.encode("utf-8") if isinstance(value, str) else value
    if isinstance(value, DType):
        return "type", value.number
    if isinstance(value, TensorShape):
        return "shape", shape_to_proto(value)
    return "tensor", make_tensor_proto(value)


_KINDS: Final = {
    "s": "string",
    "i": "int",
    "f": "float",
    "b": "bool",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
}


def attr_from_proto(proto: attr_value_pb2.AttrValue, definition: AttrDef | None) -> Any:
    """The attr value that a proto holds, in checked form.

    Args:
        definition: what the op says of the attr; None for notes such as "_class".

    Raises:
        TypeError, ValueError: it holds another kind, or a value that is not allowed.
    """
    field = proto.WhichOneof("value")
    if field == "list":
        filled = proto.list.ListFields()
        kind = f"list({_KINDS.get(filled[0][0].name, 'func')})" if filled else None
        value: Any = [_scalar_from_proto(part.name, item) for part, all in filled for item in all]
    elif field in _KINDS:
        kind = _KINDS[field]
        value = _scalar_from_proto(field, getattr(proto, field))
    else:
        raise ValueError(f"expected an attr with a value, got {field or 'none'}")
    if definition is None:
        return value
    if kind is not None and kind != definition.kind:
        raise TypeError(f"expected an attr of kind {definition.kind}, got {kind}")
    return definition.check(value)


def _scalar_from_proto(field: str, value: Any) -> Any:
    if field == "type":
        if value > 100:
            raise TypeError(f"expected an element type, got a reference to {as_dtype(value - 100)}")
        return as_dtype(value)
    if field == "shape":
        return shape_from_proto(value)
    if field == "tensor":
        return make_ndarray(value)
    if field == "s":
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value
    if field == "func":
        raise ValueError("expected no function, got one")
    return value
