"""Cases of products of matrices and vectors."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.testing.case import Case, Misuse, numbers
from qanat.ops import linalg


def _product(transpose_a: bool, transpose_b: bool) -> Any:
    def oracle(a: Any, b: Any) -> Any:
        return (a.swapaxes(-1, -2) if transpose_a else a) @ (b.swapaxes(-1,
                                                                        -2) if transpose_b else b)

    return oracle


def _sides(m: int, k: int, n: int, ta: bool, tb: bool, *batch: int) -> Any:
    a, b = ((k, m) if ta else (m, k)), ((n, k) if tb else (k, n))
    return numbers(*batch, *a), numbers(*batch, *b)


FLAGS = [(ta, tb) for ta in (False, True) for tb in (False, True)]
SIZES = [(3, 4, 5), (1, 1, 1), (0, 4, 5), (3, 0, 5), (3, 4, 0), (33, 65, 17), (1, 130, 7),
         (70, 3, 130)]
INNER = "inner dimensions"

CASES = [
    *(
        Case(linalg.mat_mul, _sides(*size, ta, tb), {"transpose_a": ta, "transpose_b": tb},
             oracle=_product(ta, tb), tolerance=20.0)
        for ta, tb in FLAGS for size in SIZES
    ),
    Case(linalg.mat_mul, (numbers(2, 2), numbers(2, 2)), oracle=np.matmul, tolerance=4.0, misuse=[
        Misuse((numbers(3, 4), numbers(5, 6)), INNER),
        Misuse((numbers(3, 4), numbers(3, 4)), INNER),
        Misuse((numbers(3, 4), numbers(4, 3)), INNER, attrs={"transpose_a": True}),
        Misuse((numbers(4), numbers(4, 3)), "a of rank 2"),
        Misuse((numbers(4, 3), numbers(4, 3, 1)), "b of rank 2"),
        Misuse((np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float64)), "float32", TypeError),
    ]),
    *(
        Case(linalg.batch_mat_mul, _sides(*size, ta, tb, *batch), {"adj_x": ta, "adj_y": tb},
             oracle=_product(ta, tb), tolerance=20.0)
        for ta, tb in FLAGS
        for size, batch in (((2, 3, 2), (2,)), ((3, 4, 5), (2, 2)), ((2, 2, 2), ()),
                            ((2, 3, 2), (0,)))
    ),
    Case(linalg.batch_mat_mul, (numbers(1, 2, 2), numbers(1, 2, 2)), oracle=np.matmul,
         tolerance=4.0,
         misuse=[
        Misuse((numbers(2, 3, 4), numbers(3, 4, 3)), "shapes that agree"),
        Misuse((numbers(2, 3, 4), numbers(2, 3, 4)), INNER),
        Misuse((numbers(3), numbers(3, 4)), "x of rank 2 or more"),
    ]),
    *(
        Case(linalg.matmul, _sides(2, 3, 4, ta, tb, *batch), {"transpose_a": ta, "transpose_b": tb},
             oracle=_product(ta, tb), tolerance=4.0, needs="rank")
        for ta, tb in FLAGS for batch in ((), (2,))
    ),
    Case(linalg.tensordot, (numbers(2, 3, 4), numbers(3, 4, 2), 2), oracle=np.tensordot,
         tolerance=8.0,
         needs="sizes"),
    Case(linalg.tensordot, (numbers(2, 3), numbers(3, 2)), {"axes": [[0], [1]]}, tolerance=4.0,
         needs="sizes",
         oracle=lambda a, b: np.tensordot(a, b, ([0], [1]))),
    Case(linalg.matmul, (numbers(2, 2), numbers(2, 2)), oracle=np.matmul, dtypes=dtypes.INDEX,
         gradient=False),
    *(
        Case(linalg.cross, (numbers(*shape), numbers(*shape)), oracle=np.cross)
        for shape in ((3,), (0, 3), (2, 1, 3), (11000, 3))
    ),
    Case(linalg.cross, (numbers(2, 3), numbers(2, 3)), oracle=np.cross, misuse=[
        Misuse((numbers(2, 3), numbers(1, 3)), r"shapes that agree, got \[2,3\] and \[1,3\]"),
        Misuse((numbers(3, 2), numbers(3, 2)), r"vectors of 3 in the last .*, got shape \[3,2\]"),
        Misuse((numbers(), numbers()), r"vectors of 3 in the last dimension, got shape \[\]"),
        Misuse((np.zeros(3, np.float32), np.zeros(3, np.float64)), "float32", TypeError),
        Misuse((np.zeros(3, bool), np.zeros(3, bool)), "bool", TypeError),
    ]),
]  # fmt: skip
