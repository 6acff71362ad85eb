"""How good predictions are, of one batch; sums over batches are left to the caller, or to control
edges.
"""

from typing import Any

from qanat.core.dtypes import float32, int64
from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.ops import cast, equal, matmul, maximum, one_hot, reduce_sum, size


def count_correct(labels: Any, predictions: Any, name: str | None = None) -> Output:
    """How many predictions equal their label, an int64 scalar; both integers of one shape."""
    with name_scope(name, "count_correct"):
        labels = convert_to_tensor(labels)
        return reduce_sum(cast(equal(labels, cast(predictions, labels.dtype)), int64))


def batch_accuracy(labels: Any, predictions: Any, name: str | None = None) -> Output:
    """The share of predictions that equal their label, a float32 scalar in [0, 1]; 0 for an empty
    batch.
    """
    with name_scope(name, "batch_accuracy"):
        correct = cast(count_correct(labels, predictions), float32)
        return correct / cast(maximum(size(labels), 1), float32)


def confusion_matrix(
    labels: Any, predictions: Any, num_classes: int, name: str | None = None
) -> Output:
    """How often each class was taken for each.

    Args:
        labels: int32 or int64 [n].
        predictions: the same. Numbers outside [0, num_classes) are not counted.

    Returns:
        int64 [num_classes, num_classes], exact for up to 2^24 a cell: row = label, column =
        prediction.
    """
    with name_scope(name, "confusion_matrix"):
        was = one_hot(labels, num_classes, dtype=float32)
        taken_for = one_hot(predictions, num_classes, dtype=float32)
        return cast(matmul(was, taken_for, transpose_a=True), int64)
