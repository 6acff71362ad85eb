"""Cases of gathers, scatters and ranks."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, bools, distinct, ints, listed, numbers
from qanat.ops import indexing as i


def _gathered(params: Any, indices: Any, axis: Any = 0) -> Any:
    return np.take(params, indices, axis)


def _summed(data: Any, ids: Any, count: Any) -> Any:
    result = np.zeros((count, *data.shape[ids.ndim :]), data.dtype)
    kept = ids >= 0
    np.add.at(result, ids[kept], data[kept])
    return result


def _one_hot(axis: int) -> Any:
    def oracle(indices: Any, depth: Any, on: Any, off: Any) -> Any:
        last = np.where(np.arange(depth) == np.asarray(indices, np.int64)[..., None], on, off)
        return np.moveaxis(last, -1, axis)

    return oracle


def _at(params: Any, indices: Any) -> Any:
    return params[tuple(np.moveaxis(indices, -1, 0))]


def _scattered(indices: Any, updates: Any, shape: Any) -> Any:
    result = np.zeros(shape, updates.dtype)
    np.add.at(result, tuple(np.moveaxis(indices, -1, 0)), updates)
    return result


def _top(k: int) -> Any:
    def oracle(x: Any, _: Any) -> Any:
        as_largest = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x.astype(object)
        order = np.argsort(-as_largest, axis=-1, kind="stable")[..., :k]
        return [np.take_along_axis(x, order, -1), order]

    return oracle


OUT = r"\[0, 3\), got 3"
ON_OFF = (listed(1), listed(0))

CASES = [
    *(
        Case(i.gather_v2, (numbers(*params), ints(*indices, low=0, high=params[axis], dtype=kind),
                           axis),
             oracle=_gathered)
        for params, indices, axis, kind in (
            ((3, 4), (5,), 0, dtypes.int32), ((3, 4), (2, 2), 0, dtypes.int64),
            ((3, 4), (), 0, dtypes.int32),
            ((3, 4), (5,), 1, dtypes.int32), ((3, 4), (2, 2), -1, dtypes.int64),
            ((3,), (4,), 0, dtypes.int32),
            ((2, 3, 4), (5,), 1, dtypes.int32), ((3, 4), (0,), 0, dtypes.int32),
            ((2, 0), (2,), 0, dtypes.int32),
        )
    ),
    Case(i.gather_v2, (numbers(3, 4), listed([0, 2, 2], dtypes.int32), 0), oracle=_gathered,
         misuse=[
        Misuse((numbers(3, 4), [0, 3], 0), OUT + " at position 1"),
        Misuse((numbers(3, 4), [0, -1], 0), r"\[0, 3\), got -1 at position 1"),
        Misuse((numbers(3, 4), [0], 2), r"axis in \[-2, 2\)"),
        Misuse((numbers(), [0], 0), "params of rank 1 or more"),
        Misuse((numbers(3), [0], 0), "batch_dims 0", attrs={"batch_dims": 1}),
        Misuse((numbers(3, 4), listed([0, 3], dtypes.int32), 0), "3", InvalidArgumentError),
        Misuse((numbers(3, 4), listed([-1], dtypes.int64), 0), "-1", InvalidArgumentError),
    ]),
    Case(i.gather, (numbers(3, 4), listed([2, 0], dtypes.int32)), oracle=_gathered),
    *(
        Case(i.unsorted_segment_sum, (numbers(*data), listed(ids, kind), count), oracle=_summed,
             tolerance=4.0)
        for data, ids, count, kind in (
            ((4,), [0, 2, 0, 1], 3, dtypes.int32), ((4, 3), [0, 2, 0, -1], 4, dtypes.int64),
            ((2, 2, 3), [[0, 1], [1, 1]], 2, dtypes.int32), ((0, 3), np.zeros(0), 2, dtypes.int32),
            ((2, 0), [0, 1], 2, dtypes.int32), ((2,), [-1, -1], 0, dtypes.int32),
        )
    ),
    Case(i.unsorted_segment_sum, (numbers(2), listed([0, 0], dtypes.int32), np.array(2, np.int64)),
         oracle=_summed, misuse=[
        Misuse((numbers(2, 3), listed([[0], [0], [0]], dtypes.int32), 2), "shapes that agree"),
        Misuse((numbers(2), listed([[0], [0]], dtypes.int32), 2), "begins with segment_ids' shape"),
        Misuse((numbers(2), listed([0, 0], dtypes.int32), -1), "num_segments of 0 or more"),
        Misuse((numbers(2), listed([0, 2], dtypes.int32), 2), "2", InvalidArgumentError),
    ]),
    *(
        Case(i.one_hot_op, (listed(indices, kind), 3, numbers(), numbers()), {"axis": axis},
             oracle=_one_hot(axis), dtypes=dtypes.NUMERIC | {dtypes.bool_})
        for indices, axis, kind in (
            ([0, 2, 1], -1, dtypes.int32), ([0, 5, -1], -1, dtypes.int64),
            ([[0, 1], [2, 2]], 1, dtypes.int32),
            ([[0, 1], [2, 2]], 0, dtypes.int64), (1, -1, dtypes.int32),
            (np.zeros(0), -1, dtypes.int32),
            ([1, 2], -1, dtypes.uint8),
        )
    ),
    Case(i.one_hot_op, (listed([1], dtypes.int32), 2, *ON_OFF), oracle=_one_hot(-1),
         dtypes=[dtypes.int32],
         misuse=[
        Misuse((listed([1], dtypes.int32), -2, 1.0, 0.0), "depth of 0 or more"),
        Misuse((listed([1], dtypes.int32), 2, [1.0], 0.0), "a scalar on_value"),
        Misuse((listed([1], dtypes.int32), 2, 1.0, 0.0), r"axis in \[-2, 2\)", attrs={"axis": 2}),
        Misuse((listed([1], dtypes.int32), listed(-1, dtypes.int32), 1.0, 0.0), "depth",
               InvalidArgumentError),
    ]),
    Case(i.one_hot, ([0, 2], 3), oracle=lambda x, depth: np.eye(depth)[x]),
    *(
        Case(i.gather_nd, (numbers(*params), listed(indices, kind)), oracle=_at)
        for params, indices, kind in (
            ((3, 4), [[0, 1], [2, 3]], dtypes.int32), ((3, 4), [[1], [0], [1]], dtypes.int64),
            ((3, 4), [1, 2], dtypes.int32), ((2, 3, 4), [[[0, 1]], [[1, 2]]], dtypes.int32),
            ((3, 4), np.zeros((0, 2)), dtypes.int32),
        )
    ),
    Case(i.gather_nd, (numbers(3), listed([[2]], dtypes.int32)), oracle=_at, misuse=[
        Misuse((numbers(3), listed([[0, 0]], dtypes.int32)), "at most 1 coordinates a row"),
        Misuse((numbers(3), listed(0, dtypes.int32)), "indices of rank 1 or more"),
        Misuse((numbers(3), listed([[3]], dtypes.int32)), "3", InvalidArgumentError),
    ]),
    *(
        Case(i.scatter_nd, (listed(indices, kind), numbers(*updates),
                            np.array(shape, kind.as_numpy)),
             oracle=_scattered, tolerance=4.0)
        for indices, updates, shape, kind in (
            ([[1], [3], [1]], (3,), [5], dtypes.int32),
            ([[0, 1], [1, 1]], (2,), [2, 3], dtypes.int64),
            ([[1], [1]], (2, 3), [2, 3], dtypes.int32), (np.zeros((0, 1)), (0,), [4], dtypes.int32),
        )
    ),
    Case(i.scatter_nd, (listed([[0]], dtypes.int32), numbers(1), [1]), oracle=_scattered, misuse=[
        Misuse((listed([[0], [1]], dtypes.int32), numbers(3), [4]), "shapes that agree"),
        Misuse((listed([[0, 1]], dtypes.int32), numbers(1), [4]), "at most 1 coordinates a row"),
        Misuse((listed(0, dtypes.int32), numbers(1), [4]), "indices of rank 1 or more"),
        Misuse((listed([[4]], dtypes.int32), numbers(1), [4]), "4", InvalidArgumentError),
    ]),
    *(
        Case(i.where_op, (numbers(*shape),), oracle=np.argwhere, exact=False,
             dtypes=dtypes.REAL | {dtypes.bool_})
        for shape in ((5,), (3, 4), (2, 3, 2), (0, 3))
    ),
    Case(i.boolean_mask, (numbers(3, 2), np.array([True, False, True])), oracle=lambda x, m: x[m],
         exact=False, needs="rank"),
    *(
        Case(i.top_k_v2, (distinct(*shape), k), oracle=_top(k), misuse=[
            Misuse((numbers(3), 4), "k of at most 3, got 4"),
            Misuse((numbers(3), -1), "k of 0 or more"),
            Misuse((numbers(), 1), "rank 1 or more"),
            Misuse((numbers(3), listed(4, dtypes.int32)), "k", InvalidArgumentError),
        ])
        for shape, k in (((5,), 2), ((3, 5), 3), ((2, 2, 4), 1), ((3,), 3), ((3, 5), 0),
                         ((0, 5), 2))
    ),
    Case(i.top_k_v2, (listed([[1.0, np.nan, 3.0, 3.0, 1.0]]), 4), oracle=_top(4),
         dtypes=dtypes.FLOATING,
         gradient=False),
    Case(i.top_k, (distinct(3, 5),), {"k": 2}, oracle=lambda x: _top(2)(x, 2)),
    Case(i.in_top_k_v2, (listed([[0.1, 0.8, 0.3], [0.9, 0.2, 0.2], [0.5, 0.5, 0.1]],
                                dtypes.float32),
                         listed([2, 1, 0]), listed(1)),
         oracle=lambda p, t, k: [False, False, True], dtypes=dtypes.INDEX, gradient=False),
    Case(i.in_top_k_v2, (listed([[0.1, 0.8, 0.3], [0.9, 0.2, 0.2], [0.5, np.nan, 0.1]],
                                dtypes.float32),
                         listed([2, 7, 1]), listed(2)),
         oracle=lambda p, t, k: [True, False, False], dtypes=dtypes.INDEX, gradient=False, misuse=[
        Misuse((listed([[0.1]], dtypes.float32), listed([0, 0]), listed(1)), "shapes that agree",
               dtype=dtypes.int32)]),
    Case(i.in_top_k, (listed([[0.1, 0.8]], dtypes.float32), [1], 1), oracle=lambda p, t, k: [True]),
    Case(i.boolean_mask, (numbers(2, 3, 2), bools(2, 3)), oracle=lambda x, m: x[m], exact=False,
         needs="rank"),
]  # fmt: skip
