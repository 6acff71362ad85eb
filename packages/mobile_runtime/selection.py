"""Which kernels a model needs, as a build for a phone names them."""

from collections.abc import Mapping
from typing import Any

from qanat.core.dtypes import DType, as_dtype
from qanat.core.kernel_table import kernel_table
from qanat.mobile_runtime.model import Model

__all__ = ["selection"]


def selection(model: Model) -> tuple[list[str], list[str]]:
    """The `ops` and `dtypes` of a `qanat_model_program` that runs the model.

    Returns:
        Sorted names of ops, and of the dtypes that the kernels of its nodes are registered for.
        Indices and conditions, which kernels read beside these, need not be named.
    """
    found = {
        as_dtype(number)
        for node in model.nodes
        for constraints in kernel_table().variants("CPU", node.op)
        if _meets(node.attrs, constraints)
        for number in constraints.values()
    }
    return sorted({node.op for node in model.nodes}), sorted(dtype.name for dtype in found)


def _meets(attrs: Mapping[str, Any], constraints: Mapping[str, int]) -> bool:
    return all(
        isinstance(attrs.get(name), DType) and attrs[name].number == number
        for name, number in constraints.items()
    )
