"""Cases of softmax and the losses from logits."""

from typing import Any

import numpy as np

from qanat.core import dtypes
from qanat.core.errors import InvalidArgumentError
from qanat.core.testing.case import Case, Misuse, distributions, labels, listed, numbers
from qanat.ops import softmax as s


def _log_softmax(x: Any, axis: int = -1) -> Any:
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _softmax(x: Any, axis: int = -1) -> Any:
    return np.exp(_log_softmax(x, axis))


def _cross_entropy(logits: Any, targets: Any) -> Any:
    return [-np.sum(targets * _log_softmax(logits), -1), _softmax(logits) - targets]


def _sparse(logits: Any, classes: Any) -> Any:
    hot = np.arange(logits.shape[-1]) == classes[..., None]
    return _cross_entropy(logits, hot)


def _named(function: Any) -> Any:
    """Takes (logits, labels) in order."""

    def call(logits: Any, labels: Any, **how: Any) -> Any:
        return function(logits=logits, labels=labels, **how)

    call.__name__ = function.__name__
    return call


def _sparse_loss(logits: Any, classes: Any) -> Any:
    return _sparse(logits, classes)[0]


def _sigmoid_loss(logits: Any, targets: Any) -> Any:
    p = 1 / (1 + np.exp(-logits))
    return -targets * np.log(p) - (1 - targets) * np.log(1 - p)


SHAPES = ((2, 3), (5,), (2, 2, 3), (0, 3), (7, 301), (1, 1))
FAR = listed([[1000.0, 0.0, -1000.0], [-1e4, -1e4, -1e4]])
BAD_LABEL = Misuse((numbers(2, 3), listed([0, 3], dtypes.int64)), r"3", InvalidArgumentError)

CASES = [
    *(Case(op, (numbers(*shape),), oracle=oracle, tolerance=8.0,
           misuse=[Misuse((numbers(),), "logits of rank 1 or more")])
      for op, oracle in ((s.softmax_op, _softmax), (s.log_softmax_op, _log_softmax))
      for shape in SHAPES),
    *(Case(op, (FAR,), oracle=oracle, dtypes=[dtypes.float32, dtypes.float64], gradient=False)
      for op, oracle in ((s.softmax_op, _softmax), (s.log_softmax_op, _log_softmax))),
    Case(s.softmax, (numbers(2, 3),), {"axis": 0}, oracle=lambda x: _softmax(x, 0), tolerance=8.0,
         needs="rank"),
    Case(s.log_softmax, (numbers(2, 3, 2),), {"dim": 1}, oracle=lambda x: _log_softmax(x, 1),
         needs="rank",
         tolerance=8.0),
    *(
        Case(s.softmax_cross_entropy_op, (numbers(*shape), distributions(*shape)),
             oracle=_cross_entropy,
             tolerance=16.0, gradient=False, misuse=[
                Misuse((numbers(2, 3), numbers(2, 4)), "shapes that agree"),
                Misuse((numbers(3), numbers(3)), "features of rank 2"),
            ])
        for shape in ((2, 3), (0, 3), (7, 301))
    ),
    *(
        Case(s.sparse_softmax_cross_entropy_op,
             (numbers(*shape), labels(shape[0], classes=shape[1], dtype=kind)),
             oracle=_sparse, tolerance=16.0, misuse=[
                Misuse((numbers(2, 3), labels(3, classes=3)), "the rows of features and labels"),
                Misuse((numbers(2, 3), labels(2, 1, classes=3)), "labels of rank 1"),
                BAD_LABEL,
                Misuse((numbers(2, 3), listed([-1, 0], dtypes.int32)), "-1", InvalidArgumentError),
            ])
        for shape, kind in (((2, 3), dtypes.int64), ((4, 5), dtypes.int32), ((0, 3), dtypes.int64),
                            ((7, 301), dtypes.int64))
    ),
    Case(_named(s.softmax_cross_entropy_with_logits_v2), (numbers(3, 4), distributions(3, 4)),
         oracle=lambda x, y: _cross_entropy(x, y)[0], tolerance=16.0),
    Case(_named(s.softmax_cross_entropy_with_logits),
         (numbers(3, 4), np.full((3, 4), 0.25, np.float32)),
         oracle=lambda x, y: _cross_entropy(x, y)[0], tolerance=16.0, dtypes=[dtypes.float32]),
    Case(_named(s.softmax_cross_entropy_with_logits_v2),
         (numbers(2, 3, 2), numbers(2, 3, 2, low=0.3, high=0.4)),
         {"axis": 1}, oracle=lambda x, y: -np.sum(y * _log_softmax(x, 1), 1), needs="rank",
         tolerance=16.0,
         gradient=False),
    Case(_named(s.sparse_softmax_cross_entropy_with_logits), (numbers(3, 4), labels(3, classes=4)),
         oracle=_sparse_loss, tolerance=16.0),
    Case(_named(s.sparse_softmax_cross_entropy_with_logits),
         (numbers(2, 3, 4), labels(2, 3, classes=4)),
         oracle=_sparse_loss, tolerance=16.0),
    Case(_named(s.sigmoid_cross_entropy_with_logits),
         (numbers(2, 3), numbers(2, 3, low=0.0, high=1.0)),
         oracle=_sigmoid_loss, tolerance=8.0),
    *(Case(s.l2_loss, (numbers(*shape),), oracle=lambda t: np.sum(t * t) / 2, tolerance=50.0)
      for shape in ((2, 3), (), (0, 3), (1037,))),
]  # fmt: skip
