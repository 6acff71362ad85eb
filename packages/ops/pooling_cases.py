"""Cases of pooling and its gradients."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, distinct, listed, numbers
from qanat.ops import pooling as p

Attrs = dict[str, Any]


def _windows(shape: Any, attrs: Attrs) -> Any:
    """For each output row and column, the part of the image under its window."""
    edges = []
    for axis in (1, 2):
        size, extent, stride = shape[axis], attrs["ksize"][axis], attrs["strides"][axis]
        if attrs["padding"] == "SAME":
            count = -(-size // stride)
            before = max((count - 1) * stride + extent - size, 0) // 2
        else:
            count, before = (size - extent) // stride + 1, 0
        starts = [i * stride - before for i in range(count)]
        edges.append([slice(max(start, 0), min(start + extent, size)) for start in starts])
    return edges


def _pooled(reduce: Any, attrs: Attrs) -> Any:
    def oracle(x: Any) -> Any:
        rows, columns = _windows(x.shape, attrs)
        y = np.zeros((x.shape[0], len(rows), len(columns), x.shape[3]), x.dtype)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                y[:, i, j] = reduce(x[:, row, column], axis=(1, 2))
        return y

    return oracle


def _avg_grad(attrs: Attrs) -> Any:
    def oracle(shape: Any, grad: Any) -> Any:
        rows, columns = _windows(shape, attrs)
        x = np.zeros(shape)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                area = (row.stop - row.start) * (column.stop - column.start)
                x[:, row, column] += grad[:, i : i + 1, j : j + 1] / area
        return x

    return oracle


def _firsts(x: Any, attrs: Attrs) -> Any:
    """For each output element its coordinates, and those of the first maximum of its window."""
    rows, columns = _windows(x.shape, attrs)
    for b, i, j, k in np.ndindex(x.shape[0], len(rows), len(columns), x.shape[3]):
        part = x[b, rows[i], columns[j], k]
        u, v = np.unravel_index(np.argmax(part), part.shape)
        yield (b, i, j, k), (b, rows[i].start + u, columns[j].start + v, k)


def _max_grad(attrs: Attrs) -> Any:
    def oracle(x: Any, y: Any, grad: Any) -> Any:
        result = np.zeros_like(x)
        for out, at in _firsts(x, attrs):
            result[at] += grad[out]
        return result

    return oracle


def _max_grad_grad(attrs: Attrs) -> Any:
    def oracle(x: Any, y: Any, grad: Any) -> Any:
        result = np.zeros_like(y)
        for out, at in _firsts(x, attrs):
            result[out] = grad[at]
        return result

    return oracle


def _max_pool_grad(x: Any, grad: Any, **attrs: Any) -> Any:
    return p.max_pool_grad(x, p.max_pool_op(x, **attrs), grad, **attrs)


def _max_pool_grad_grad(x: Any, grad: Any, **attrs: Any) -> Any:
    return p.max_pool_grad_grad(x, p.max_pool_op(x, **attrs), grad, **attrs)


FORMS: list[tuple[Any, Any, Any, str]] = [
    ((1, 4, 4, 1), (2, 2), (2, 2), "VALID"),
    ((2, 5, 3, 2), (2, 2), (2, 2), "SAME"),
    ((1, 4, 4, 2), (3, 3), (1, 1), "SAME"),
    ((1, 5, 5, 1), (3, 2), (2, 1), "VALID"),
    ((1, 5, 5, 1), (2, 2), (3, 3), "SAME"),
    ((0, 4, 4, 1), (2, 2), (2, 2), "VALID"),
    ((2, 9, 8, 37), (3, 3), (2, 2), "SAME"),
]


def _family(shape: Any, ksize: Any, strides: Any, padding: str) -> list[Case]:
    """All pools of one geometry."""
    attrs: Attrs = {"ksize": [1, *ksize, 1], "strides": [1, *strides, 1], "padding": padding}
    pooled = _pooled(np.max, attrs)(np.zeros(shape)).shape
    as_max = _pooled(np.max, attrs)
    return [
        Case(p.max_pool_op, (distinct(*shape),), attrs, oracle=as_max),
        Case(p.avg_pool_op, (numbers(*shape),), attrs, oracle=_pooled(np.mean, attrs),
             tolerance=8.0),
        Case(p.avg_pool_grad, (np.array(shape, np.int32), numbers(*pooled)), attrs,
             oracle=_avg_grad(attrs), tolerance=8.0),
        Case(_max_pool_grad, (distinct(*shape), numbers(*pooled)), attrs, second_order=False,
             oracle=lambda x, grad: _max_grad(attrs)(x, None, grad), covers=["MaxPoolGrad"]),
        Case(_max_pool_grad_grad, (distinct(*shape), numbers(*shape)), attrs, second_order=False,
             oracle=lambda x, grad: _max_grad_grad(attrs)(x, as_max(x), grad),
             covers=["MaxPoolGradGrad"]),
    ]  # fmt: skip


HALVED: Attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
NAN = np.nan


def _refused(message: str, *shape: int, **attrs: Any) -> Misuse:
    return Misuse((numbers(*shape),), message, attrs=attrs)


REFUSED = [
    _refused("rank 4", 4, 4, 1),
    _refused("a window of at most 1 elements, got 2", 1, 1, 4, 1),
    _refused("ksize as", 1, 4, 4, 1, ksize=[2, 2, 2, 1]),
    _refused("ksize as", 1, 4, 4, 1, ksize=[1, 0, 2, 1]),
    _refused("strides as", 1, 4, 4, 1, strides=[1, 2, 1]),
    _refused("data_format NHWC", 1, 4, 4, 1, data_format="NCHW"),
]
IMAGE = numbers(1, 4, 4, 1)
QUARTER = numbers(1, 2, 2, 1)

CASES = [
    *(case for form in FORMS for case in _family(*form)),
    Case(p.max_pool_op, (numbers(1, 2, 2, 1),), HALVED, oracle=_pooled(np.max, HALVED),
         misuse=REFUSED),
    Case(p.avg_pool_op, (numbers(1, 2, 2, 1),), HALVED, oracle=_pooled(np.mean, HALVED),
         misuse=REFUSED,
         tolerance=8.0),
    Case(p.max_pool_op, (listed(np.array([1, NAN, 3, 2.0]).reshape(1, 2, 2, 1)),), HALVED,
         oracle=_pooled(np.max, HALVED), dtypes=dtypes.FLOATING, gradient=False),
    Case(p.max_pool_grad, (listed(np.ones((1, 2, 2, 1))), listed(np.ones((1, 1, 1, 1))),
                           numbers(1, 1, 1, 1)), HALVED, oracle=_max_grad(HALVED), gradient=False,
                           misuse=[
        Misuse((IMAGE, QUARTER, numbers(1, 1, 2, 1)), "shapes that agree"),
        Misuse((IMAGE, numbers(1, 1, 2, 1), QUARTER), "shapes that agree"),
    ]),
    Case(p.max_pool_grad_grad, (listed(np.ones((1, 2, 2, 1))), listed(np.ones((1, 1, 1, 1))),
                                numbers(1, 2, 2, 1)), HALVED, oracle=_max_grad_grad(HALVED),
                                gradient=False,
         misuse=[Misuse((IMAGE, QUARTER, QUARTER), "shapes that agree")]),
    Case(p.avg_pool_grad, ([1, 2, 2, 1], numbers(1, 1, 1, 1)), HALVED, oracle=_avg_grad(HALVED),
         tolerance=8.0, misuse=[
        Misuse(([1, 4, 4, 1], numbers(1, 1, 1, 1)), "shapes that agree"),
        Misuse(([4, 4, 1], QUARTER), "rank 4"),
        Misuse((listed([1, 8, 4, 1], dtypes.int32), QUARTER), "", InvalidArgumentError),
    ]),
    Case(p.max_pool, (distinct(1, 4, 4, 1), 2, 2, "SAME"), oracle=lambda x,
         *_: _pooled(np.max, HALVED)(x)),
    Case(p.avg_pool, (numbers(1, 4, 4, 1), [2, 2], [2, 2], "SAME"), tolerance=8.0,
         oracle=lambda x, *_: _pooled(np.mean, HALVED)(x)),
]  # fmt: skip
