"""Cases of ops that move elements."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, listed, numbers
from qanat.ops import arranging as a

NUMBERS = dtypes.NUMERIC


def _transposed(x: Any, perm: Any) -> Any:
    return np.transpose(x, [i % x.ndim for i in perm])


def _padded(x: Any, paddings: Any, value: Any = 0) -> Any:
    return np.pad(x, np.reshape(paddings, (-1, 2)), constant_values=value) if x.ndim else x


NOT_PERM = "a permutation of"
EMPTY = np.zeros(0, np.int32)

CASES = [
    *(
        Case(a.transpose_op, (numbers(*shape), np.array(perm, np.int32)), oracle=_transposed)
        for shape, perm in (
            ((2, 3), [1, 0]), ((2, 3), [0, 1]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 4), [0, 2, 1]),
            ((2, 3, 4, 5), [0, 3, 1, 2]), ((2, 3, 4, 5), [3, 2, 1, 0]), ((0, 3), [1, 0]),
            ((4,), [0]),
            ((), []), ((37, 67), [1, 0]), ((3, 37, 67), [0, 2, 1]),
            ((2, 1, 3, 1, 2), [4, 1, 0, 3, 2]),
        )
    ),
    Case(a.transpose_op, (numbers(2, 3), np.array([1, 0], np.int64)), oracle=_transposed, misuse=[
        Misuse((numbers(2, 3), [0, 0]), NOT_PERM),
        Misuse((numbers(2, 3), [0, 2]), NOT_PERM),
        Misuse((numbers(2, 3), [0]), "perm's length and x's rank"),
        Misuse((numbers(2, 3), listed([0, 0], dtypes.int32)), "permutation", InvalidArgumentError),
    ]),
    Case(a.transpose, (numbers(2, 3, 4),), oracle=np.transpose),
    Case(a.matrix_transpose, (numbers(2, 3, 4),), oracle=lambda x: x.swapaxes(1, 2),
         needs="rank"),
    *(
        Case(a.invert_permutation, (listed(perm),), oracle=np.argsort, dtypes=dtypes.INDEX)
        for perm in ([2, 0, 1], [0], [3, 2, 1, 0])
    ),
    Case(a.invert_permutation, (listed([1, 0]),), oracle=np.argsort, dtypes=dtypes.INDEX, misuse=[
        Misuse((listed([0, 0]),), "permutation", InvalidArgumentError, dtype=dtypes.int32),
        Misuse((listed([0, 2]),), r"\[0, 2\), got 2", InvalidArgumentError, dtype=dtypes.int32),
        Misuse((np.array([0, 2], np.int32),), "permutation of 0 to 1"),
    ]),
    *(
        Case(a.reverse_v2, (numbers(*shape), np.array(axes, np.int32)),
             oracle=lambda x, axes: np.flip(x, tuple(axes)), misuse=[
                Misuse((numbers(2, 3), [0, -2]), "each axis once"),
                Misuse((numbers(2, 3), [2]), r"axis in \[-2, 2\)"),
                Misuse((numbers(2, 3), listed([7], dtypes.int32)), "axis", InvalidArgumentError),
            ])
        for shape, axes in (((2, 3), [1]), ((2, 3), [0, 1]), ((2, 3, 4), [-2]), ((2, 3), []),
                            ((0, 3), [0]), ((), []))
    ),
    *(
        Case(a.tile, (numbers(*shape), np.array(times, np.int32)), oracle=np.tile)
        for shape, times in (
            ((2, 3), [2, 1]), ((2, 3), [2, 3]), ((2, 3), [1, 1]), ((3,), [4]), ((2, 3), [0, 1]),
            ((2, 1, 3), [1, 4, 2]), ((0, 3), [2, 2]),
        )
    ),
    Case(a.tile, (numbers(2), np.array([3], np.int64)), oracle=np.tile, misuse=[
        Misuse((numbers(2, 3), [2]), "multiples' length and input's rank"),
        Misuse((numbers(2), [-1]), "multiples of 0 or more"),
        Misuse((numbers(2), listed([-1], dtypes.int32)), "multiples", InvalidArgumentError),
        Misuse((numbers(2), [2**62]), "dimension|elements"),
    ]),
    *(
        Case(a.pad_op, (numbers(*shape), np.array(paddings, np.int32).reshape(-1, 2)),
             oracle=_padded,
             dtypes=NUMBERS)
        for shape, paddings in (
            ((2, 3), [[1, 2], [0, 1]]), ((3,), [[2, 0]]), ((0, 3), [[1, 1], [0, 0]]), ((), []),
            ((2, 3, 4), [[0, 0], [1, 1], [2, 0]]), ((1, 2, 3, 2), [[0, 0], [1, 1], [1, 1], [0, 0]]),
        )
    ),
    Case(a.pad_op, (numbers(2), np.array([[1, 1]], np.int64)), oracle=_padded, dtypes=NUMBERS,
         misuse=[
        Misuse((numbers(2), [[1, 1], [1, 1]]), "number of paddings and input's rank"),
        Misuse((numbers(2), [[1, 1, 1]]), "two columns"),
        Misuse((numbers(2), [[-1, 1]]), "paddings of 0 or more"),
        Misuse((numbers(2), listed([[-1, 1]], dtypes.int32)), "paddings", InvalidArgumentError),
    ]),
    Case(a.pad_v2, (numbers(2, 3), [[1, 2], [0, 1]], numbers()), oracle=_padded, dtypes=NUMBERS),
    Case(a.pad_v2, (numbers(0), [[2, 1]], numbers()), oracle=_padded, dtypes=NUMBERS,
         misuse=[Misuse((numbers(2), [[1, 1]], numbers(1)), "a scalar constant_values")]),
    Case(a.pad, (numbers(2, 3), [[1, 1], [0, 0]]), {"constant_values": 7},
         oracle=lambda x, p: _padded(x, p, 7)),
]  # fmt: skip
