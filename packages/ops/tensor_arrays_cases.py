"""Cases of TensorArrays' ops."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import control_dependencies
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops import tensor_arrays as t


def _array(x: Any, size: int = 2, **how: Any) -> Any:
    """(handle, flow)"""
    return t.tensor_array_v3(size, dtype=x.dtype, clear_after_read=False, **how)


def _written(x: Any, y: Any, at: int = 1, read: int = 0) -> Any:
    """Both elements of an array, y's first, and how many there are."""
    handle, flow = _array(x)
    flow = t.tensor_array_write_v3(handle, at, x, flow)
    flow = t.tensor_array_write_v3(handle, 0, y, flow)
    return (
        t.tensor_array_read_v3(handle, read, flow, dtype=x.dtype),
        t.tensor_array_read_v3(handle, 1, flow, dtype=x.dtype),
        t.tensor_array_size_v3(handle, flow),
    )


def _scattered(x: Any, to: Any = (2, 0, 1)) -> Any:
    """Rows of x in another order."""
    handle, flow = _array(x, 3)
    flow = t.tensor_array_scatter_v3(handle, list(to), x, flow)
    return t.tensor_array_gather_v3(handle, [0, 1, 2], flow, dtype=x.dtype)


def _split(x: Any, lengths: Any = (1, 2)) -> Any:
    """x, cut and joined, and the lengths of the pieces."""
    handle, flow = _array(x)
    flow = t.tensor_array_split_v3(handle, x, np.array(lengths, np.int64), flow)
    return t.tensor_array_concat_v3(handle, flow, dtype=x.dtype)


def _summed(x: Any) -> Any:
    """The gradients of an array: what was written twice is summed, what was not is zero."""
    handle, flow = _array(x)
    flow = t.tensor_array_write_v3(handle, 0, x, flow)
    flow = t.tensor_array_write_v3(handle, 1, x, flow)
    grads, flow = t.tensor_array_grad_v3(handle, flow, source="gradients")
    for _ in range(2):
        flow = t.tensor_array_write_v3(grads, 0, x, flow)
    return t.tensor_array_gather_v3(grads, [0, 1], flow, dtype=x.dtype)


def _closed(x: Any) -> Any:
    """How many elements an array has that was closed."""
    handle, flow = _array(x)
    with control_dependencies([t.tensor_array_close_v3(handle)]):
        return t.tensor_array_size_v3(handle, flow)


VALUES = dtypes.NUMERIC | {dtypes.bool_, dtypes.string}

CASES = [
    *(
        Case(_written, (numbers(*shape), numbers(*shape)), oracle=lambda x, y: [y, x, 2],
             dtypes=VALUES, exact=False, second_order=False,
             covers=["TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3",
                     "TensorArraySizeV3"],
             misuse=[
                 Misuse((numbers(2), numbers(2)), "below 2, the size", InvalidArgumentError,
                        attrs={"at": 2}),
                 Misuse((numbers(2), numbers(2)), "written once, got 0", InvalidArgumentError,
                        attrs={"at": 0}),
                 Misuse((numbers(2), numbers(2)), r"in \[0, 2\)", InvalidArgumentError,
                        attrs={"read": -1}),
             ])
        for shape in ((2, 3), (), (0, 3))
    ),
    *(
        Case(_scattered, (numbers(*shape),), oracle=lambda x: x[[1, 2, 0]], dtypes=VALUES,
             exact=False, second_order=False,
             covers=["TensorArrayScatterV3", "TensorArrayGatherV3"],
             misuse=[
                 Misuse((numbers(2, 2),), "as many indices as values"),
                 Misuse((numbers(3),), "written once", InvalidArgumentError,
                        attrs={"to": (1, 1, 0)}),
             ])
        for shape in ((3, 2), (3,), (3, 0))
    ),
    *(
        Case(_split, (numbers(*shape),), oracle=lambda x: [x, [1, 2]], dtypes=VALUES, exact=False,
             second_order=False, covers=["TensorArraySplitV3", "TensorArrayConcatV3"],
             misuse=[
                 Misuse((numbers(3),), "value of 5 rows", InvalidArgumentError,
                        attrs={"lengths": (2, 3)}),
                 Misuse((numbers(3),), "0 or more, got -1 at 0", InvalidArgumentError,
                        attrs={"lengths": (-1, 4)}),
             ])
        for shape in ((3, 2), (3,))
    ),
    Case(_summed, (numbers(2, 3),), oracle=lambda x: [2 * x, 0 * x], dtypes=dtypes.REAL,
         gradient=False, exact=False, covers=["TensorArrayGradV3"]),
    Case(_closed, (numbers(2),), oracle=lambda x: 2, gradient=False, covers=["TensorArrayCloseV3"]),
]  # fmt: skip
