"""Losses against NumPy, with and without weights."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qanat.autodiff import gradients
from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.training import losses

Array = np.ndarray[Any, Any]

LABELS = np.array([0.0, 1.0, 1.0, 0.0], np.float32)
PREDICTIONS = np.array([0.25, 0.5, 3.0, -2.0], np.float32)


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("loss", "formula"),
    [
        (losses.mean_squared_error, lambda y, x: (x - y) ** 2),
        (losses.absolute_difference, lambda y, x: np.abs(x - y)),
        (
            losses.huber_loss,
            lambda y, x: np.where(np.abs(x - y) <= 1, (x - y) ** 2 / 2, np.abs(x - y) - 0.5),
        ),
        (
            losses.sigmoid_cross_entropy,
            lambda y, x: -y * np.log(sigmoid(x)) - (1 - y) * np.log(1 - sigmoid(x)),
        ),
    ],
)
def test_elementwise(session: Any, loss: Any, formula: Callable[[Array, Array], Array]) -> None:
    each = formula(LABELS.astype(np.float64), PREDICTIONS.astype(np.float64))
    np.testing.assert_allclose(session.run(loss(LABELS, PREDICTIONS)), each.mean(), rtol=1e-5)
    weights = np.array([2, 0, 1, 0], np.float32)
    weighted = (each * weights).sum() / 2  # Two weights are not 0.
    np.testing.assert_allclose(
        session.run(loss(LABELS, PREDICTIONS, constant(weights))), weighted, rtol=1e-5
    )
    np.testing.assert_allclose(
        session.run(loss(LABELS, PREDICTIONS, 3.0)), 3 * each.mean(), rtol=1e-5
    )


def test_log_loss(session: Any) -> None:
    p = np.array([0.1, 0.9, 0.5, 0.2])
    each = -LABELS * np.log(p + 1e-7) - (1 - LABELS) * np.log(1 - p + 1e-7)
    np.testing.assert_allclose(
        session.run(losses.log_loss(LABELS, p.astype(np.float32))), each.mean(), rtol=1e-5
    )


def log_softmax(x: Array) -> Array:
    return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))


LOGITS = np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 4.0]], np.float32)


def test_sparse_softmax_cross_entropy(session: Any) -> None:
    loss = losses.sparse_softmax_cross_entropy(np.array([2, 0], np.int32), LOGITS)
    scores = log_softmax(LOGITS)
    assert session.run(loss) == pytest.approx(-(scores[0, 2] + scores[1, 0]) / 2, rel=1e-6)


def test_softmax_cross_entropy_with_smoothing(session: Any) -> None:
    onehot = np.array([[0, 0, 1], [1, 0, 0]], np.float32)
    loss = losses.softmax_cross_entropy(onehot, LOGITS, label_smoothing=0.3)
    smooth = onehot * 0.7 + 0.1
    assert session.run(loss) == pytest.approx(-(smooth * log_softmax(LOGITS)).sum() / 2, rel=1e-6)


def test_a_label_out_of_range(session: Any) -> None:
    labels = placeholder(dtypes.int32, [2])
    loss = losses.sparse_softmax_cross_entropy(labels, LOGITS)
    with pytest.raises(InvalidArgumentError, match="3"):
        session.run(loss, {labels: np.array([0, 3], np.int32)})
    assert session.run(loss, {labels: np.array([0, 2], np.int32)}) > 0


def test_the_loss_of_nothing_is_zero(session: Any) -> None:
    x = placeholder(dtypes.float32, [None])
    loss = losses.mean_squared_error(x, x * 2.0)
    (grad,) = gradients(loss, x)
    value, at = session.run([loss, grad], {x: np.zeros(0, np.float32)})
    assert value == 0 and at.shape == (0,)
    unweighted = losses.mean_squared_error(LABELS, PREDICTIONS, constant([0.0, 0.0, 0.0, 0.0]))
    assert session.run(unweighted) == 0


def test_collections(session: Any) -> None:
    with pytest.raises(ValueError, match="expected at least one loss"):
        losses.get_total_loss()
    first = losses.mean_squared_error(LABELS, PREDICTIONS)
    losses.mean_squared_error(LABELS, PREDICTIONS, loss_collection=None)
    losses.add_loss(constant(10.0))
    assert losses.get_losses()[0] is first and len(losses.get_losses()) == 2
    assert session.run(losses.get_total_loss()) == session.run(first) + 10


def test_shapes_that_would_broadcast() -> None:
    with pytest.raises(ValueError, match=r"labels of the predictions' shape \[4,1\], got \[4\]"):
        losses.mean_squared_error(LABELS, PREDICTIONS.reshape(4, 1))
