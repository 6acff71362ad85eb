"""Variables as ops see them: a handle, and what reads and writes the value behind it.

A read is a value: it does not change when the variable is written later. Reads and writes of one
step are ordered by data and control edges only. Sums that steps add at once are never lost.
"""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output
from qanat.core.op_def import Grads, Handle, In, Shapes, op
from qanat.core.shapes import UNKNOWN, TensorShape, merge

Resource = Annotated[In, "resource"]
Value = Annotated[In, "dtype"]
VALUES = dtypes.ALL - {dtypes.resource}


@op("VarHandleOp", outputs="resource: resource", stateful=True, differentiable=False, dtype=VALUES)
def var_handle_op(
    *, container: str = "", shared_name: str = "", dtype: DType, shape: TensorShape = UNKNOWN
) -> Shapes:
    """A handle to the variable `shared_name` in `container`; the node's name if shared_name is
    empty.
    """
    return [Handle(dtype, shape)]


def _require_dtype(resource: In, dtype: DType) -> None:
    if resource.handle_dtype not in (None, dtype):
        raise TypeError(f"expected {resource.handle_dtype}, the variable's dtype, got {dtype}")


@op("ReadVariableOp", outputs="value: dtype", stateful=True, dtype=VALUES)
def read_variable_op(resource: Resource, *, dtype: DType) -> Shapes:
    """The variable's value. A failed-precondition error of the step if it is not initialized."""
    _require_dtype(resource, dtype)
    return [resource.handle_shape]


@read_variable_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    """The gradient for a variable is that for its handle: the sum over all reads."""
    return [grad]


def _written(resource: In, value: In) -> Shapes:
    """The shape function of all writes."""
    _require_dtype(resource, value.dtype)
    if not resource.handle_shape.is_compatible_with(value.shape):
        raise ShapeError(
            f"expected a value of the variable's shape {resource.handle_shape}, got {value.shape}"
        )
    return []


@op("AssignVariableOp", outputs="", stateful=True, differentiable=False, dtype=VALUES)
def assign_variable_op(resource: Resource, value: Value) -> Shapes:
    """The variable's value becomes `value`."""
    return _written(resource, value)


@op("AssignAddVariableOp", outputs="", stateful=True, differentiable=False, dtype=dtypes.REAL)
def assign_add_variable_op(resource: Resource, value: Value) -> Shapes:
    """Adds `value` to the variable; a failed-precondition error of the step if it is not
    initialized.
    """
    return _written(resource, value)


@op("AssignSubVariableOp", outputs="", stateful=True, differentiable=False, dtype=dtypes.REAL)
def assign_sub_variable_op(resource: Resource, value: Value) -> Shapes:
    """Subtracts `value` from the variable; a failed-precondition error of the step if it is not
    initialized.
    """
    return _written(resource, value)


@op("VarIsInitializedOp", outputs="is_initialized: bool", stateful=True, differentiable=False)
def var_is_initialized_op(resource: Resource) -> Shapes:
    """Whether the variable has a value, a scalar."""
    return [TensorShape([])]


@op("ReadVariableOrElseOp", outputs="value: dtype", stateful=True, dtype=VALUES)
def read_variable_or_else_op(resource: Resource, otherwise: Value) -> Shapes:
    """The variable's value if it has one, else `otherwise`."""
    _require_dtype(resource, otherwise.dtype)
    return [merge(resource.handle_shape, otherwise.shape)]


@read_variable_or_else_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [grad, None]
