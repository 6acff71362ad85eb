"""Softmax, and the losses that are computed from logits."""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.errors import ShapeError
from qanat.core.graph import Operation, Output, convert_to_tensor, name_scope
from qanat.core.op_def import Grads, In, Shapes, op
from qanat.core.shapes import TensorShape, merge
from qanat.ops import activations, arranging, elementwise, joining, reductions, shaping
from qanat.ops.shape_functions import dims_of_rank, dims_of_vector, resolve_axis, same_dim

__all__ = [
    "l2_loss",
    "log_softmax",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
]

T = Annotated[In, "T"]


def _rows(x: In, name: str) -> TensorShape:
    if x.shape.dims == ():
        raise ShapeError(f"expected {name} of rank 1 or more, got a scalar")
    return x.shape


@op("Softmax", outputs="softmax: T", T=dtypes.FLOATING)
def softmax_op(logits: T) -> Shapes:
    """exp(x) / sum(exp(x)) along the last dimension; see `softmax`."""
    return [_rows(logits, "logits")]


@softmax_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [_through_softmax(op.outputs[0], grad)]


def _through_softmax(probabilities: Output, grad: Output) -> Output:
    """The gradient for the logits, given that for their softmax: p * (g - sum(g * p))."""
    mean = reductions.reduce_sum(grad * probabilities, -1, keepdims=True)
    return (grad - mean) * probabilities


@op("LogSoftmax", outputs="logsoftmax: T", T=dtypes.FLOATING)
def log_softmax_op(logits: T) -> Shapes:
    """x - log(sum(exp(x))) along the last dimension; see `log_softmax`."""
    return [_rows(logits, "logits")]


@log_softmax_op.gradient
def _(op: Operation, grad: Output) -> Grads:
    total = reductions.reduce_sum(grad, -1, keepdims=True)
    return [grad - elementwise.exp(op.outputs[0]) * total]


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Output:
    """exp(x) / sum(exp(x)) along `axis`, without overflow.

    Args:
        logits: floating-point, rank 1 or more.
        axis: in [-rank, rank); the last if not given. `dim` is its older name.

    Raises:
        ShapeError: axis is out of range, or logits is a scalar.
    """
    return _along(softmax_op, logits, shaping.one_of("axis", axis, "dim", dim), name, "Softmax")


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Output:
    """x - log(sum(exp(x))) along `axis`, without overflow. Arguments and errors are those of
    `softmax`.
    """
    return _along(
        log_softmax_op, logits, shaping.one_of("axis", axis, "dim", dim), name, "LogSoftmax"
    )


def _along(builder: Any, logits: Any, axis: int | None, name: str | None, default: str) -> Output:
    """Applies an op of the last dimension to another one, by way of a transpose."""
    logits = convert_to_tensor(logits)
    at, rank = _axis_of(logits, axis), logits.shape.rank
    if at is None or rank is None or at == rank - 1:
        return builder(logits, name=name)
    order = list(range(rank))
    order[at], order[-1] = order[-1], order[at]
    with name_scope(name, default, [logits]):
        return arranging.transpose(builder(arranging.transpose(logits, order)), order)


def _axis_of(x: Output, axis: int | None) -> int | None:
    """The axis counted from the front; None for the last one of an unknown number.

    Raises:
        ShapeError: it is out of range, or not the last while the rank is unknown.
    """
    if x.shape.rank is not None:
        return resolve_axis(-1 if axis is None else axis, x.shape.rank) if x.shape.rank else None
    if axis not in (None, -1):
        raise ShapeError(f"expected a known rank or the last axis, got axis {axis} of {x.shape}")
    return None


@op("SoftmaxCrossEntropyWithLogits", outputs="loss: T, backprop: T", T=dtypes.FLOATING)
def softmax_cross_entropy_op(features: T, labels: T) -> Shapes:
    """Row by row -sum(labels * log_softmax(features)), and its gradient for features.

    Both inputs are [batch, classes]; each row of labels must be a distribution (that is not
    checked). A label of 0 contributes 0 even where the log is -inf.
    """
    for x, name in ((features, "features"), (labels, "labels")):
        dims_of_rank(x, name, 2)
    shape = merge(features.shape, labels.shape).with_rank(2)
    return [shape[:1], shape]


@softmax_cross_entropy_op.gradient
def _(op: Operation, grad_loss: Output | None, grad_backprop: Output | None) -> Grads:
    features = op.inputs[0]
    for_features, for_labels = [], []
    if grad_loss is not None:
        rows = shaping.expand_dims(grad_loss, -1)
        for_features.append(rows * op.outputs[1])
        for_labels.append(-rows * log_softmax(features))
    if grad_backprop is not None:
        for_features.append(_through_softmax(softmax(features), grad_backprop))
        for_labels.append(-grad_backprop)
    return [_total(for_features), _total(for_labels)]


def _total(partials: list[Output]) -> Output | None:
    return partials[0] + partials[1] if len(partials) == 2 else partials[0] if partials else None


@op(
    "SparseSoftmaxCrossEntropyWithLogits",
    outputs="loss: T, backprop: T",
    T=dtypes.FLOATING,
    Tlabels=(dtypes.INDEX, dtypes.int64),
)
def sparse_softmax_cross_entropy_op(features: T, labels: Annotated[In, "Tlabels"]) -> Shapes:
    """Row by row -log_softmax(features)[label], and its gradient for features.

    features is [batch, classes], labels [batch] in [0, classes): others fail the step.
    """
    rows, classes = dims_of_rank(features, "features", 2)
    rows = same_dim(rows, dims_of_vector(labels, "labels"), "the rows of features and labels")
    return [TensorShape([rows]), TensorShape([rows, classes])]


@sparse_softmax_cross_entropy_op.gradient
def _(op: Operation, grad_loss: Output | None, grad_backprop: Output | None) -> Grads:
    partials = []
    if grad_loss is not None:
        partials.append(shaping.expand_dims(grad_loss, -1) * op.outputs[1])
    if grad_backprop is not None:
        partials.append(_through_softmax(softmax(op.inputs[0]), grad_backprop))
    return [_total(partials), None]


def _require_named(sentinel: Any, labels: Any, logits: Any, name: str) -> None:
    if sentinel is not None or labels is None or logits is None:
        raise ValueError(f"[{name}] expected labels= and logits= as named arguments")


def softmax_cross_entropy_with_logits_v2(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Output:
    """-sum(labels * log_softmax(logits)) along `axis`, differentiable for labels, too.

    Args:
        labels: distributions along axis (that is not checked), of the shape and dtype of logits.
        logits: unscaled log probabilities, floating-point, rank 1 or more.
        axis: in [-rank, rank); the last if not given. `dim` is its older name.

    Returns:
        The loss, without that axis.

    Raises:
        ShapeError: the shapes differ.
        ValueError: arguments are not named.
    """
    _require_named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits_v2")
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]):
        logits = convert_to_tensor(logits)
        labels = convert_to_tensor(labels, dtype=logits.dtype)
        rank, at = logits.shape.rank, _axis_of(logits, dim if axis is None else axis)
        if at is not None and rank is not None and at != rank - 1:
            order = [*(i for i in range(rank) if i != at), at]
            logits, labels = (arranging.transpose(x, order) for x in (logits, labels))
        _require_shape(labels, logits.shape, "softmax_cross_entropy_with_logits_v2")
        loss = softmax_cross_entropy_op(_as_rows(logits), _as_rows(labels))[0]
        return loss if rank == 2 else shaping.reshape(loss, _leading_shape(logits))


def _require_shape(labels: Output, shape: TensorShape, function: str) -> None:
    if not labels.shape.is_compatible_with(shape):
        raise ShapeError(
            f"[{function}] expected labels of shape {shape}, as the logits have, got {labels.shape}"
        )


def _as_rows(x: Output) -> Output:
    """x as a matrix with the same last dimension."""
    if x.shape.rank == 2:
        return x
    last = x.shape[-1] if x.shape.rank else None
    return shaping.reshape(
        x, joining.stack([-1, shaping.shape(x)[-1]]) if last is None else [-1, last]
    )


def _leading_shape(x: Output) -> Any:
    """x's shape without the last dimension."""
    leading = x.shape[:-1] if x.shape.rank is not None else x.shape
    if leading.is_fully_defined():
        return shaping.as_shape_input(leading)
    return shaping.shape(x)[:-1]


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Output:
    """As `softmax_cross_entropy_with_logits_v2`, but no gradient flows to labels."""
    _require_named(_sentinel, labels, logits, "softmax_cross_entropy_with_logits")
    labels = shaping.stop_gradient(convert_to_tensor(labels))
    return softmax_cross_entropy_with_logits_v2(
        labels=labels, logits=logits, dim=dim, name=name, axis=axis
    )


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Output:
    """-log_softmax(logits)[label] along the last dimension.

    Args:
        labels: int32 or int64 of logits' shape without the last dimension, in [0, classes); others
            fail the step.
        logits: unscaled log probabilities [..., classes], floating-point.

    Returns:
        The loss, of labels' shape and logits' dtype.

    Raises:
        ShapeError: the shapes do not go together.
        ValueError: arguments are not named.
    """
    _require_named(_sentinel, labels, logits, "sparse_softmax_cross_entropy_with_logits")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if logits.shape.rank == 2:
            return sparse_softmax_cross_entropy_op(logits, labels)[0]
        rows = shaping.reshape(labels, [-1])
        if logits.shape.rank:
            shape = logits.shape[:-1]
            _require_shape(labels, shape, "sparse_softmax_cross_entropy_with_logits")
        loss = sparse_softmax_cross_entropy_op(_as_rows(logits), rows)[0]
        return shaping.reshape_like(loss, labels)


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Output:
    """-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), without overflow.

    It is computed as softplus(logits) - logits * labels.

    Args:
        labels: probabilities, of the shape and dtype of logits.
        logits: floating-point, any shape.

    Raises:
        ShapeError: the shapes differ.
        ValueError: arguments are not named.
    """
    _require_named(_sentinel, labels, logits, "sigmoid_cross_entropy_with_logits")
    with name_scope(name, "logistic_loss", [logits, labels]):
        logits = convert_to_tensor(logits)
        labels = convert_to_tensor(labels, dtype=logits.dtype)
        _require_shape(labels, logits.shape, "sigmoid_cross_entropy_with_logits")
        return activations.softplus(logits) - logits * labels


@op("L2Loss", outputs="output: T", T=dtypes.FLOATING)
def l2_loss(t: T) -> Shapes:
    """sum(t^2) / 2, a scalar: half the squared L2 norm."""
    return [TensorShape([])]


@l2_loss.gradient
def _(op: Operation, grad: Output) -> Grads:
    return [op.inputs[0] * grad]
