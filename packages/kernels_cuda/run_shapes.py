"""The shapes of a node's outputs in a step, by the op's own shape function: so that a kernel gets
inputs that fit, and what does not fit has the error that it has everywhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qanat.core.dtypes import DType
from qanat.core.passes.step_graph import Node
from qanat.core.shapes import TensorShape
from qanat.core.signature import Handle, In
from qanat.kernels_cuda.device import Dims, sizes_of
from qanat.kernels_cuda.variables import Variable


class _Known(In):
    """An input whose shape is known, and its value where that is on the host."""

    __slots__ = ("_given",)

    def __init__(self, given: Any, dtype: DType) -> None:
        self._given = given
        self.dtype = dtype
        is_handle = isinstance(given, Variable)
        self.shape = TensorShape(()) if is_handle else TensorShape(given.shape)

    @property
    def value(self) -> Any:
        return self._given if isinstance(self._given, np.ndarray) else None

    def value_as_shape(self) -> TensorShape:
        self.shape.with_rank(1)
        if self.value is None:
            return TensorShape((None,) * self._given.size)
        return TensorShape(tuple([None if size == -1 else int(size) for size in self.value]))

    @property
    def handle(self) -> Handle | None:
        found = self._given
        return Handle(found.dtype, found.shape) if isinstance(found, Variable) else None


def output_shapes(node: Node, inputs: Sequence[Any], dtypes: Sequence[DType]) -> list[Dims] | None:
    """The shapes of a node's outputs, whole; None where the kernel has to tell.

    Args:
        inputs: arrays of the host or device, and variables.
        dtypes: of the inputs.

    Raises:
        ShapeError: they do not fit.
    """
    known = iter([_Known(given, dtype) for given, dtype in zip(inputs, dtypes, strict=True)])
    arguments: list[Any] = []
    for arg in node.op_def.inputs:
        group = [next(known) for _ in arg.dtypes(node.attrs)]
        arguments.append(group if arg.is_list else group[0])
    attrs = {name: node.attrs[name] for name in node.op_def.parameters}
    shapes = [
        TensorShape(()) if isinstance(shape, Handle) else shape
        for shape in node.op_def.shape_fn(*arguments, **attrs)
    ]
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    return [*map(sizes_of, shapes)]
