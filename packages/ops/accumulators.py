"""Sums of gradients that the steps of several workers add to, and one takes."""

from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal

from qanat.core import dtypes
from qanat.core.dtypes import DType, as_dtype
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, get_default_graph
from qanat.core.op_def import Handle, In, Shapes, op
from qanat.core.shapes import SCALAR, UNKNOWN, ShapeLike, TensorShape, as_shape
from qanat.ops.shape_functions import require_scalar

__all__ = ["ConditionalAccumulator"]

AccumulatorHandle = Annotated[In, "resource"]
SUMMED = frozenset({dtypes.float32, dtypes.float64})


@op(
    "ResourceConditionalAccumulator",
    outputs="handle: resource",
    stateful=True,
    differentiable=False,
    dtype=SUMMED,
)
def resource_conditional_accumulator(
    *,
    dtype: DType,
    shape: TensorShape = UNKNOWN,
    container: str = "",
    shared_name: str = "",
    reduction_type: Literal["MEAN", "SUM"] = "MEAN",
) -> Shapes:
    """A handle to the accumulator `shared_name` in `container`; the node's name if shared_name is
    empty.
    """
    return [Handle(dtype, shape)]


@op(
    "ResourceAccumulatorApplyGradient",
    outputs="",
    stateful=True,
    differentiable=False,
    dtype=SUMMED,
)
def resource_accumulator_apply_gradient(
    handle: AccumulatorHandle,
    local_step: Annotated[In, "int64"],
    gradient: Annotated[In, "dtype"],
) -> Shapes:
    """Adds a gradient, unless `local_step` is before the accumulator's own step."""
    require_scalar(local_step, "local_step")
    if not handle.handle_shape.is_compatible_with(gradient.shape):
        raise ShapeError(
            f"expected a gradient of shape {handle.handle_shape}, got {gradient.shape}"
        )
    return []


@op(
    "ResourceAccumulatorTakeGradient",
    outputs="average: dtype",
    stateful=True,
    differentiable=False,
    dtype=SUMMED,
)
def resource_accumulator_take_gradient(
    handle: AccumulatorHandle, num_required: Annotated[In, "int32"], *, dtype: DType
) -> Shapes:
    """What was added, once that is `num_required` gradients or more; the next sum begins."""
    require_scalar(num_required, "num_required")
    return [handle.handle_shape]


@op("ResourceAccumulatorSetGlobalStep", outputs="", stateful=True, differentiable=False)
def resource_accumulator_set_global_step(
    handle: AccumulatorHandle, new_global_step: Annotated[In, "int64"]
) -> Shapes:
    """The accumulator's own step becomes `new_global_step`, if that is later."""
    require_scalar(new_global_step, "new_global_step")
    return []


@op(
    "ResourceAccumulatorNumAccumulated",
    outputs="num_accumulated: int32",
    stateful=True,
    differentiable=False,
)
def resource_accumulator_num_accumulated(handle: AccumulatorHandle) -> Shapes:
    """How many gradients the present sum has, a scalar."""
    return [SCALAR]


class ConditionalAccumulator:
    """A sum of gradients that is taken once enough have come, and that leaves out those of steps
    that are over.

    Args:
        dtype: float32 or float64.
        shape: of the gradients.
        shared_name: the name under which sessions share it on a task; its node's name by default.
        reduction_type: "MEAN" to take the sum divided by the count, or "SUM".

    Attributes:
        accumulator_ref: the Output that refers to it.
    """

    def __init__(
        self,
        dtype: Any,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        self.dtype = as_dtype(dtype)
        self.shape = as_shape(shape)
        self.accumulator_ref: Output = resource_conditional_accumulator(
            dtype=self.dtype,
            shape=self.shape,
            container=get_default_graph().get_container(),
            shared_name=shared_name or "",
            reduction_type=reduction_type,
            name=name,
        )

    @property
    def name(self) -> str:
        return self.accumulator_ref.op.name

    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """Adds a gradient, unless `local_step`, the global step it was computed for, is over.

        Raises:
            ShapeError: the gradient has another shape than the accumulator.
        """
        step = convert_to_tensor(local_step, dtype=dtypes.int64)
        gradient = convert_to_tensor(grad, dtype=self.dtype)
        with self._place():
            return resource_accumulator_apply_gradient(
                self.accumulator_ref, step, gradient, name=name
            )

    def take_grad(self, num_required: Any, name: str | None = None) -> Output:
        """The sum or mean of all gradients added, once there are `num_required`; what comes next is
        of the following step.
        """
        count = convert_to_tensor(num_required, dtype=dtypes.int32)
        with self._place():
            return resource_accumulator_take_gradient(
                self.accumulator_ref, count, dtype=self.dtype, name=name
            )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """From now on gradients of earlier steps are left out; an earlier one has no effect."""
        step = convert_to_tensor(new_global_step, dtype=dtypes.int64)
        with self._place():
            return resource_accumulator_set_global_step(self.accumulator_ref, step, name=name)

    def num_accumulated(self, name: str | None = None) -> Output:
        """How many gradients there are, an int32 scalar."""
        with self._place():
            return resource_accumulator_num_accumulated(self.accumulator_ref, name=name)

    def _place(self) -> AbstractContextManager[None]:
        """What uses the accumulator is where it is."""
        return self.accumulator_ref.graph.device_of(self.accumulator_ref.op)
