"""The ops that the engine itself makes, and what users call to make them."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from qanat.core import dtypes, user_line
from qanat.core.constants import to_array
from qanat.core.convert import as_graph_element, constant_node, convert_to_tensor
from qanat.core.default_graph import get_default_graph
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import ShapeError, raise_located
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.operation import Operation, Output
from qanat.core.shapes import UNKNOWN, ShapeLike, TensorShape, as_shape

__all__ = [
    "constant",
    "group",
    "identity",
    "no_op",
    "placeholder",
    "placeholder_with_default",
]

T = Annotated[In, "T"]
Default = Annotated[In, "dtype"]


@op("Const", outputs="output: dtype", differentiable=False, dtype=dtypes.ALL)
def const(*, value: np.ndarray[Any, Any], dtype: DType) -> Shapes:
    """The tensor `value`, of type `dtype`."""
    if as_dtype(value.dtype) is not dtype:
        raise TypeError(f"attr value: expected {dtype.name}, got {value.dtype}")
    return [TensorShape(value.shape)]


@const.static_value
def _(*, value: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any]:
    return value


@op("Placeholder", outputs="output: dtype", differentiable=False, dtype=dtypes.ALL)
def _placeholder(*, dtype: DType, shape: TensorShape = UNKNOWN) -> Shapes:
    """A value that every step that needs it has to be fed."""
    return [shape]


@op("PlaceholderWithDefault", outputs="output: dtype", dtype=dtypes.ALL)
def _placeholder_with_default(input: Default, *, shape: TensorShape) -> Shapes:
    """`input`, where nothing is fed."""
    if not input.shape.is_compatible_with(shape):
        raise ShapeError(f"expected a default of shape {shape}, got {input.shape}")
    return [shape]


@_placeholder_with_default.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad]


@op("NoOp", outputs="", differentiable=False)
def no_op() -> Shapes:
    """Does nothing: a place to gather control dependencies at.

    Returns:
        The Operation.
    """
    return []


@op("Identity", outputs="output: T", T=dtypes.ALL)
def identity(input: T) -> Shapes:
    """The same value under another name.

    Args:
        input: of any type and shape.

    Returns:
        An Output of the same type and shape.
    """
    return [input.handle or input.shape]


@identity.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad]


@op("_Arg", outputs="output: T", differentiable=False)
def _arg(*, index: int, T: DType, shape: TensorShape = UNKNOWN) -> Shapes:
    """The value fed as number `index` of a step. Made by the compiler alone."""
    return [shape]


@op("_Send", outputs="", stateful=True, differentiable=False, T=dtypes.ALL)
def _send(tensor: T, *, tensor_name: str, send_device: str, recv_device: str) -> Shapes:
    """Makes `tensor` known to the `_Recv` of the same three names. Made by partitioning alone."""
    return []


@op("_Recv", outputs="tensor: tensor_type", stateful=True, differentiable=False)
def _recv(
    *,
    tensor_type: DType,
    tensor_name: str,
    send_device: str,
    recv_device: str,
    branches: Sequence[str] = (),
) -> Shapes:
    """The tensor that the `_Send` of the same three names is given. Made by partitioning alone.

    Args:
        branches: what has to be taken for that tensor to be alive (`passes.flow.shown_taken`); an
            empty list where it always is.
    """
    return [UNKNOWN]


def constant(
    value: Any,
    dtype: Any = None,
    shape: ShapeLike = None,
    name: str | None = None,
    verify_shape: bool = False,
) -> Output:
    """A tensor that is the same in every step.

    Args:
        value: a number, bool, string, bytes, NumPy array, or nested lists of them. Python floats
            become float32, ints int32 (int64 where they do not fit).
        dtype: the type to have; NumPy arrays are converted to it too.
        shape: the shape to have. A value with fewer elements is filled up with its last one.
        verify_shape: whether the value must have `shape` already.

    Returns:
        An Output of that type and shape.

    Raises:
        TypeError: the value is of another kind than `dtype`.
        ValueError: the value has more elements than `shape`, or numbers out of range.
    """
    try:
        array = to_array(value, None if dtype is None else as_dtype(dtype))
        if shape is not None:
            array = _filled(array, as_shape(shape), verify_shape)
    except (TypeError, ValueError) as error:
        raise_located(error, "Const", name, user_line.describe(user_line.capture()))
    return constant_node(get_default_graph(), array, name)


def _filled(array: np.ndarray[Any, Any], shape: TensorShape, verify: bool) -> np.ndarray[Any, Any]:
    dims: Any = shape.dims
    count = shape.num_elements()
    if dims is None or count is None:
        raise ShapeError(f"expected a fully known shape, got {shape}")
    if array.shape == dims:
        return array
    if array.ndim == 0 and not verify:
        return np.full(dims, array)
    if verify or array.size > count or (array.size == 0 and count):
        raise ShapeError(f"expected a value for shape {shape}, got one of {list(array.shape)}")
    flat = np.empty(count, array.dtype)
    flat[: array.size] = array.ravel()
    if array.size < count:
        flat[array.size :] = array.ravel()[-1]
    return flat.reshape(dims)


def placeholder(dtype: Any, shape: ShapeLike = None, name: str | None = None) -> Output:
    """A value that steps are fed: `session.run(y, feed_dict={x: value})`.

    Args:
        dtype: the element type.
        shape: what is known of the shape, None for an unknown size; None for any shape.

    Returns:
        An Output of that type and shape. A step that needs it and is not fed it is an
        InvalidArgumentError.
    """
    return _placeholder(dtype=dtype, shape=shape, name=name)


def placeholder_with_default(input: Any, shape: ShapeLike, name: str | None = None) -> Output:
    """A value that steps may be fed.

    Args:
        input: the value where nothing is fed; converted to an Output.
        shape: what feeds may have; `input` must be compatible with it.

    Raises:
        ShapeError: `input` has another shape.
    """
    return _placeholder_with_default(convert_to_tensor(input), shape=shape, name=name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs after all of the inputs.

    Args:
        inputs: Operations, Outputs, what stands for them, and nested lists of these; None is left
            out.

    Raises:
        TypeError: something else is among them.
        ValueError: they are of several graphs.
    """
    ops: dict[Operation, None] = {}
    for value in _flattened(inputs):
        element = as_graph_element(value)
        ops[element.op if isinstance(element, Output) else element] = None
    graph = next(iter(ops)).graph if ops else get_default_graph()
    with graph.as_default(), graph.control_dependencies(ops):
        return no_op(name=name or "group_deps")


def _flattened(values: Any) -> list[Any]:
    if isinstance(values, (list, tuple)):
        return [leaf for value in values for leaf in _flattened(value)]
    return [] if values is None else [values]
