"""Losses: how far predictions are from labels, as one scalar to be minimized.

Each takes `weights` (1, a scalar, or a shape that broadcasts to the losses'), multiplies the
losses of the examples by them, and divides their sum by the number of losses whose weight is not 0
(by 1 where there is none, so that the loss of nothing is 0). Each adds its result to a collection,
LOSSES by default, from which `get_total_loss` sums them.
"""

from typing import Any

from qanat.core.graph import GraphKeys, Output, convert_to_tensor, get_collection, name_scope
from qanat.ops import (
    abs,
    add_n,
    cast,
    log,
    maximum,
    minimum,
    not_equal,
    ones_like,
    reduce_sum,
    shape,
    size,
    squared_difference,
)
from qanat.ops.softmax import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """The weighted mean of losses, as the module says.

    Args:
        losses: floating-point, of any shape.
        weights: non-negative.
        scope: name scope.
        loss_collection: where the result is kept; None for nowhere.

    Returns:
        A scalar of the losses' dtype.
    """
    with name_scope(scope, "weighted_loss"):
        if isinstance(weights, float | int) and weights == 1:
            total, present = reduce_sum(losses), cast(size(losses), losses.dtype)
        else:
            weights = cast(convert_to_tensor(weights), losses.dtype)
            total = reduce_sum(losses * weights)
            counted = not_equal(weights, 0.0) & (ones_like(losses) > 0)
            present = reduce_sum(cast(counted, losses.dtype))
        loss = total / maximum(present, 1.0)
    if loss_collection is not None:
        add_loss(loss, loss_collection)
    return loss


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """-log softmax(logits)[label].

    Args:
        labels: int32 or int64 [...], each in [0, classes).
        logits: floating-point [..., classes].

    Raises:
        InvalidArgumentError: when run, a label is out of range; the message names its position.
    """
    with name_scope(scope, "sparse_softmax_cross_entropy_loss"):
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """-sum(labels * log softmax(logits)).

    Args:
        onehot_labels: probabilities, [..., classes].
        logits: floating-point [..., classes].
        label_smoothing: this much of each label is spread evenly over all classes (Szegedy et al.,
            "Rethinking the Inception Architecture for Computer Vision", 2016, section 7).
    """
    with name_scope(scope, "softmax_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            labels = labels * (1 - label_smoothing) + label_smoothing / classes
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """-labels * log sigmoid(logits) - (1 - labels) * log(1 - sigmoid(logits)), for each class by
    itself.

    Args:
        multi_class_labels: in [0, 1], of the logits' shape.
        logits: floating-point, of any shape.
    """
    with name_scope(scope, "sigmoid_cross_entropy_loss"):
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """(predictions - labels)^2; both of one shape, predictions floating-point."""
    with name_scope(scope, "mean_squared_error"):
        labels, predictions = _alike(labels, predictions)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """|predictions - labels|; both of one shape, predictions floating-point."""
    with name_scope(scope, "absolute_difference"):
        labels, predictions = _alike(labels, predictions)
        losses = abs(predictions - labels)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """Half the squared error where it is at most delta, else linear with slope delta.

    Source: Huber, "Robust Estimation of a Location Parameter" (1964), with the error e: 0.5 *
    min(e, delta)^2 + delta * (e - min(e, delta)).
    """
    with name_scope(scope, "huber_loss"):
        labels, predictions = _alike(labels, predictions)
        error = abs(predictions - labels)
        quadratic = minimum(error, delta)
        losses = 0.5 * quadratic * quadratic + delta * (error - quadratic)
        return compute_weighted_loss(losses, weights, None, loss_collection)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Output:
    """-labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon)."""
    with name_scope(scope, "log_loss"):
        labels, predictions = _alike(labels, predictions)
        losses = -labels * log(predictions + epsilon) - (1 - labels) * log(
            1 - predictions + epsilon
        )
        return compute_weighted_loss(losses, weights, None, loss_collection)


def add_loss(loss: Output, loss_collection: str = GraphKeys.LOSSES) -> None:
    """Adds a loss made elsewhere to those that `get_total_loss` sums."""
    loss.graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Output]:
    """The losses of the default graph; `scope` as in `get_total_loss`."""
    return get_collection(loss_collection, scope)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Output:
    """The sum of all losses of the default graph, a scalar.

    Args:
        add_regularization_losses: whether those of layers' regularizers count.
        name: of the sum.
        scope: only losses whose names match this prefix or pattern.

    Raises:
        ValueError: there is none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)
    if not losses:
        raise ValueError("[get_total_loss] expected at least one loss in the graph, got none")
    return add_n(losses, name=name)


def _alike(labels: Any, predictions: Any) -> tuple[Output, Output]:
    """Both as Outputs of the predictions' dtype.

    Raises:
        ValueError: shapes differ: labels [n] and predictions [n, 1] would else make [n, n] losses.
    """
    predictions = convert_to_tensor(predictions)
    labels = cast(labels, predictions.dtype)
    if not labels.shape.is_compatible_with(predictions.shape):
        raise ValueError(
            f"[losses] expected labels of the predictions' shape {predictions.shape}, got "
            f"{labels.shape}"
        )
    return labels, predictions
