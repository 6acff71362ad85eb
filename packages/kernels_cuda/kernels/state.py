"""Variables. Arrays are never written to, so an update puts a new one in the old one's place."""

from typing import Any

import numpy as np

from qanat.core.device_library import Array
from qanat.core.dtypes import DType
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray
from qanat.kernels_cuda.kernel import FLOATS, Anywhere, Run, cuda_kernel
from qanat.kernels_cuda.kernels.arrays import HELD
from qanat.kernels_cuda.kernels.pointwise import combine
from qanat.kernels_cuda.variables import Variable, Variables


@cuda_kernel("VarHandleOp", dtype=HELD)
def _(
    run: Run,
    *,
    container: Any,
    shared_name: Any,
    dtype: DType,
    shape: TensorShape,
    variables: Variables,
) -> Variable:
    return variables.get(container, shared_name or run.node.name, dtype, shape)


@cuda_kernel("ReadVariableOp", dtype=HELD)
def _(run: Run, variable: Anywhere) -> DeviceArray:
    return variable.read()


@cuda_kernel("ReadVariableOrElseOp", dtype=HELD)
def _(run: Run, variable: Anywhere, otherwise: Anywhere) -> Any:
    return variable.read() if variable.is_initialized else otherwise


@cuda_kernel("VarIsInitializedOp")
def _(run: Run, variable: Anywhere) -> Array:
    return np.array(variable.is_initialized)


@cuda_kernel("AssignVariableOp", dtype=HELD)
def _(run: Run, variable: Anywhere, value: DeviceArray) -> None:
    with variable.lock:
        variable.assign(value)


@cuda_kernel("AssignAddVariableOp", dtype=FLOATS)
def _(run: Run, variable: Anywhere, value: DeviceArray) -> None:
    _update(run, "Add", variable, value)


@cuda_kernel("AssignSubVariableOp", dtype=FLOATS)
def _(run: Run, variable: Anywhere, value: DeviceArray) -> None:
    _update(run, "Sub", variable, value)


def _update(run: Run, op: str, variable: Variable, value: DeviceArray) -> None:
    with variable.lock:
        before = variable.read()
        if before.shape != value.shape:
            raise ValueError(
                f"expected a value of the variable's shape {list(before.shape)}, got "
                f"{list(value.shape)}"
            )
        after = run.gpu.empty(before.shape, before.dtype)
        variable.assign(combine(run, op, before, value, after))
