"""Cases of slices."""

import builtins
from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import slicing as s

EMPTY = np.zeros(0, np.int32)


def _slice(x: Any, begin: Any, size: Any) -> Any:
    key = [
        builtins.slice(b, x.shape[i] if n == -1 else b + n)
        for i, (b, n) in enumerate(zip(begin, size, strict=True))
    ]
    return x[tuple(key)]


def _key(begin: Any, end: Any, strides: Any, masks: dict[str, int]) -> Any:
    """The subscript that a StridedSlice stands for."""
    key: list[Any] = []
    for i, (b, e, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = {name: masks.get(name, 0) >> i & 1 for name in s.MASKS}
        if bit["ellipsis_mask"]:
            key.append(Ellipsis)
        elif bit["new_axis_mask"]:
            key.append(None)
        elif bit["shrink_axis_mask"]:
            key.append(b)
        else:
            first, last = (None if bit["begin_mask"] else b), (None if bit["end_mask"] else e)
            key.append(builtins.slice(first, last, step))
    return tuple(key)


def _strided(shape: tuple[int, ...], begin: Any, end: Any, strides: Any,
             **masks: int) -> list[Case]:
    """A StridedSlice, and the StridedSliceGrad that undoes it."""
    key = _key(begin, end, strides, masks)
    taken = np.zeros(shape)[key].shape
    bounds = [np.array(bound, np.int32) for bound in (begin, end, strides)]

    def scattered(target: Any, b: Any, e: Any, st: Any, dy: Any) -> Any:
        result = np.zeros(shape, dy.dtype)
        result[key] = dy
        return result

    return [
        Case(s.strided_slice_op, (numbers(*shape), *bounds), masks, oracle=lambda x, *_: x[key]),
        Case(s.strided_slice_grad, (np.array(shape, np.int32), *bounds, numbers(*taken)), masks,
             oracle=scattered, dtypes=dtypes.NUMERIC),
    ]  # fmt: skip


def _subscripted(*key: Any) -> Case:
    def subscript(x: Any) -> Any:
        return x[key]

    return Case(subscript, (numbers(4, 3, 2),), oracle=lambda x: x[key])


TOO_FAR = "a slice within 2 elements"

CASES = [
    *(
        Case(s.slice_op, (numbers(*shape), np.array(begin, np.int32), np.array(size, np.int32)),
             oracle=_slice)
        for shape, begin, size in (
            ((4, 5), [1, 2], [2, 3]), ((4, 5), [0, 0], [-1, -1]), ((4, 5), [1, 1], [-1, 2]),
            ((4,), [2], [0]),
            ((0, 3), [0, 1], [0, 2]), ((), [], []), ((2, 3, 4), [0, 1, 1], [2, 1, -1]),
            ((4, 5), [4, 5], [0, 0]),
        )
    ),
    Case(s.slice_op, (numbers(2), np.array([1], np.int64), np.array([1], np.int64)), oracle=_slice,
         misuse=[
        Misuse((numbers(2), [1], [2]), TOO_FAR),
        Misuse((numbers(2), [3], [0]), TOO_FAR),
        Misuse((numbers(2), [-1], [1]), "begin of 0 or more"),
        Misuse((numbers(2), [0], [-2]), "size of -1 or more"),
        Misuse((numbers(2), [0, 0], [1, 1]), "begin's length and input's rank"),
        Misuse((numbers(2), [0], [1, 1]), "the lengths of begin and size"),
        Misuse((numbers(2), listed([3], dtypes.int32), [1]), "2", InvalidArgumentError),
    ]),
    Case(s.slice, (numbers(4, 3), [1, 0], [2, -1]), oracle=_slice),
    *_strided((5,), [1], [4], [1]),
    *_strided((5,), [4], [0], [-2]),
    *_strided((5,), [-2], [-5], [-1]),
    *_strided((5,), [0], [0], [2], begin_mask=1, end_mask=1),
    *_strided((5,), [0], [0], [-1], begin_mask=1, end_mask=1),
    *_strided((5,), [-100], [100], [3]),
    *_strided((5,), [3], [1], [1]),
    *_strided((4, 5), [1, 0], [3, 5], [1, 2]),
    *_strided((4, 5), [1, 2], [2, 3], [1, 1], shrink_axis_mask=1),
    *_strided((4, 5), [-1, -2], [0, 0], [1, 1], shrink_axis_mask=3),
    *_strided((4, 5), [1], [3], [1]),
    *_strided((2, 3, 4), [0, 1], [0, 3], [1, 1], ellipsis_mask=1),
    *_strided((2, 3, 4), [1, 0, 2], [2, 0, 3], [1, 1, 1], ellipsis_mask=2, shrink_axis_mask=5),
    *_strided((2, 3), [0, 0, 1], [0, 0, 2], [1, 1, 1], new_axis_mask=1, end_mask=2),
    *_strided((2, 3), [0, 0], [0, 0], [1, 1], ellipsis_mask=1, new_axis_mask=2),
    *_strided((0, 3), [0], [0], [1], begin_mask=1, end_mask=1),
    *_strided((), [], [], []),
    Case(s.strided_slice_op, (numbers(4), *(np.array([i], np.int64) for i in (1, 3, 1))),
         oracle=lambda x, *_: x[1:3], misuse=[
        Misuse((numbers(4), [0], [4], [0]), "strides other than 0"),
        Misuse((numbers(4), [0, 0], [4, 4], [1, 1]), "at most 1 indices, got 2"),
        Misuse((numbers(4), [4], [5], [1]), r"an index in \[-4, 4\), got 4",
               attrs={"shrink_axis_mask": 1}),
        Misuse((numbers(4), [0], [4, 4], [1]), "the lengths of begin and end"),
        Misuse((numbers(4, 4), [0, 0], [4, 4], [1, 1]), "one ellipsis", attrs={"ellipsis_mask": 3}),
        Misuse((numbers(4), listed([0], dtypes.int32), [4], listed([0], dtypes.int32)), "stride",
               InvalidArgumentError),
        Misuse((numbers(4), listed([9], dtypes.int32), [10], [1]), "index", InvalidArgumentError,
               attrs={"shrink_axis_mask": 1}),
    ]),
    Case(s.strided_slice, (numbers(4), [1], [3]), oracle=lambda x, *_: x[1:3]),
    _subscripted(1),
    _subscripted(-1, builtins.slice(None), 0),
    _subscripted(builtins.slice(1, None, 2)),
    _subscripted(Ellipsis, builtins.slice(None, None, -1)),
    _subscripted(None, Ellipsis, None),
    _subscripted(builtins.slice(-3, -1), builtins.slice(0, 2), 1),
]  # fmt: skip
