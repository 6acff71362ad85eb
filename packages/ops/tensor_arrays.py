"""Arrays of tensors of a step: each element is written once, in any order, and may then be read.

`qanat.control_flow.TensorArray` is the class users see. Every op takes and gives a *flow*, a
float32 scalar that has no meaning but to order what is done with one array; its gradient orders
what is done with the array of gradients. Source: Yu et al., "Dynamic control flow in large-scale
machine learning" (EuroSys 2018), sections 2.1 and 5.2.
"""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.gradient_pass import gradient_pass
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import SCALAR, UNKNOWN, TensorShape, concatenate
from qanat.ops.shape_functions import dims_of_vector, require_scalar

Handle = Annotated[In, "resource"]
Flow = Annotated[In, "float32"]
Int = Annotated[In, "int32"]
T = Annotated[In, "T"]
VALUES = dtypes.ALL - {dtypes.resource}


@op(
    "TensorArrayV3",
    outputs="handle: resource, flow: float32",
    stateful=True,
    differentiable=False,
    dtype=VALUES,
)
def tensor_array_v3(
    size: Int,
    *,
    dtype: DType,
    element_shape: TensorShape = UNKNOWN,
    dynamic_size: bool = False,
    clear_after_read: bool = True,
    identical_element_shapes: bool = False,
    tensor_array_name: str = "",
) -> Shapes:
    """A new array of tensors.

    Args:
        size: a scalar.
        dtype: of the elements.
        element_shape: that each must have, as far as it is known.
        dynamic_size: whether writing beyond the end makes it larger.
        clear_after_read: whether a read drops the element, so that a second is an error.
        identical_element_shapes: whether all have the shape of the first that is written.
        tensor_array_name: for messages.

    Returns:
        (a handle, the flow)
    """
    require_scalar(size, "size")
    return [SCALAR, SCALAR]


@op(
    "TensorArrayGradV3",
    outputs="grad_handle: resource, flow_out: float32",
    stateful=True,
    differentiable=False,
)
def tensor_array_grad_v3(handle: Handle, flow_in: Flow, *, source: str) -> Shapes:
    """The array of the gradients of an array's elements: made as large as the array is now, by the
    first that asks for it.

    What is written to one element several times is summed; an element that nothing is written to
    reads as zeros.

    Args:
        source: tells apart several calls of `gradients`.

    Returns:
        (its handle, the flow)
    """
    return [SCALAR, SCALAR]


def _gradient_array(op: Operation, flow: Output) -> Any:
    """(handle, flow) of the array of gradients that belongs to an op's array."""
    return tensor_array_grad_v3(op.inputs[0], flow, source=gradient_pass())


@op("TensorArrayWriteV3", outputs="flow_out: float32", stateful=True, T=VALUES)
def tensor_array_write_v3(handle: Handle, index: Int, value: T, flow_in: Flow) -> Shapes:
    """Writes an element. An invalid-argument error of the step for an index outside of the array, a
    second write, or a value of another dtype or shape."""
    require_scalar(index, "index")
    return [SCALAR]


@tensor_array_write_v3.gradient
def _(op: Operation, flow: Output) -> Grads:
    handle, flow = _gradient_array(op, flow)
    value = op.inputs[2]
    grad = tensor_array_read_v3(handle, op.inputs[1], flow, dtype=value.dtype)
    grad.set_shape(value.shape)
    return [None, None, grad, flow]


@op("TensorArrayReadV3", outputs="value: dtype", stateful=True, dtype=VALUES)
def tensor_array_read_v3(handle: Handle, index: Int, flow_in: Flow, *, dtype: DType) -> Shapes:
    """An element. An invalid-argument error of the step where it has not been written, or was read
    and dropped."""
    require_scalar(index, "index")
    return [UNKNOWN]


@tensor_array_read_v3.gradient
def _(op: Operation, grad: Output) -> Grads:
    handle, flow = _gradient_array(op, op.inputs[2])
    return [None, None, tensor_array_write_v3(handle, op.inputs[1], grad, flow)]


@op("TensorArrayGatherV3", outputs="value: dtype", stateful=True, dtype=VALUES)
def tensor_array_gather_v3(
    handle: Handle,
    indices: Int,
    flow_in: Flow,
    *,
    dtype: DType,
    element_shape: TensorShape = UNKNOWN,
) -> Shapes:
    """The elements at `indices`, a vector, along a new first dimension.

    An invalid-argument error of the step where they have several shapes. Where there are none, the
    shape of an element has to be fully known.
    """
    return [concatenate(TensorShape([dims_of_vector(indices, "indices")]), element_shape)]


@tensor_array_gather_v3.gradient
def _(op: Operation, grad: Output) -> Grads:
    handle, flow = _gradient_array(op, op.inputs[2])
    return [None, None, tensor_array_scatter_v3(handle, op.inputs[1], grad, flow)]


@op("TensorArrayScatterV3", outputs="flow_out: float32", stateful=True, T=VALUES)
def tensor_array_scatter_v3(handle: Handle, indices: Int, value: T, flow_in: Flow) -> Shapes:
    """Writes value[i] to the element indices[i]."""
    count = dims_of_vector(indices, "indices")
    if value.shape.dims == ():
        raise ShapeError("expected a value of rank 1 or more, got a scalar")
    first = value.shape.dims[0] if value.shape.dims else None
    if None not in (count, first) and count != first:
        raise ShapeError(f"expected as many indices as values, got {count} and {first}")
    return [SCALAR]


@tensor_array_scatter_v3.gradient
def _(op: Operation, flow: Output) -> Grads:
    handle, flow = _gradient_array(op, flow)
    value = op.inputs[2]
    grad = tensor_array_gather_v3(
        handle,
        op.inputs[1],
        flow,
        dtype=value.dtype,
        element_shape=UNKNOWN if value.shape.dims is None else value.shape[1:],
    )
    grad.set_shape(value.shape)
    return [None, None, grad, flow]


@op("TensorArrayConcatV3", outputs="value: dtype, lengths: int64", stateful=True, dtype=VALUES)
def tensor_array_concat_v3(
    handle: Handle,
    flow_in: Flow,
    *,
    dtype: DType,
    element_shape_except0: TensorShape = UNKNOWN,
) -> Shapes:
    """All elements joined along their first dimension.

    Returns:
        (the joined value, the first dimension of each element)
    """
    return [concatenate(TensorShape([None]), element_shape_except0), TensorShape([None])]


@tensor_array_concat_v3.gradient
def _(op: Operation, grad: Output | None, lengths: Output | None) -> Grads:
    if grad is None:
        return [None, None]
    handle, flow = _gradient_array(op, op.inputs[1])
    return [None, tensor_array_split_v3(handle, grad, op.outputs[1], flow)]


@op("TensorArraySplitV3", outputs="flow_out: float32", stateful=True, T=VALUES)
def tensor_array_split_v3(
    handle: Handle, value: T, lengths: Annotated[In, "int64"], flow_in: Flow
) -> Shapes:
    """Cuts `value` along its first dimension into pieces of these lengths, one an element."""
    dims_of_vector(lengths, "lengths")
    if value.shape.dims == ():
        raise ShapeError("expected a value of rank 1 or more, got a scalar")
    return [SCALAR]


@tensor_array_split_v3.gradient
def _(op: Operation, flow: Output) -> Grads:
    handle, flow = _gradient_array(op, flow)
    value = op.inputs[1]
    rest = UNKNOWN if value.shape.dims is None else value.shape[1:]
    grad, _ = tensor_array_concat_v3(handle, flow, dtype=value.dtype, element_shape_except0=rest)
    grad.set_shape(value.shape)
    return [None, grad, None, flow]


@op("TensorArraySizeV3", outputs="size: int32", stateful=True, differentiable=False)
def tensor_array_size_v3(handle: Handle, flow_in: Flow) -> Shapes:
    """The number of elements, a scalar."""
    return [SCALAR]


@op("TensorArrayCloseV3", outputs="", stateful=True, differentiable=False)
def tensor_array_close_v3(handle: Handle) -> Shapes:
    """Drops all elements of the array."""
    return []
