"""Checks symbolic derivatives against central differences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qanat.autodiff.gradients import gradients
from qanat.core.base_ops import placeholder
from qanat.core.dtypes import FLOATING
from qanat.core.graph import Output
from qanat.core.session import Session, get_default_session

Array = np.ndarray[Any, Any]


def compute_gradient(
    x: Output,
    x_shape: Sequence[int],
    y: Output,
    y_shape: Sequence[int],
    x_init_value: Array | None = None,
    delta: float | None = None,
    extra_feed_dict: Mapping[Output, Any] | None = None,
) -> tuple[Array, Array]:
    """The Jacobian of y with respect to x, twice: by `gradients`, and by central differences.

    Runs the graph in the default session, once for each element of y and twice for each of x.

    Args:
        x: floating-point, any output that can be fed.
        x_shape: its shape in this check.
        y: floating-point, computed from x.
        y_shape: its shape in this check.
        x_init_value: where to differentiate; uniform in [0.1, 1) by default, away from the kinks at
            0.
        delta: the step; by default the cube root of the smaller precision of x and y, where
            the errors by truncation and by rounding are about equal.
        extra_feed_dict: further values to feed.

    Returns:
        (symbolic, numeric), float64, each of shape [elements of x, elements of y].

    Raises:
        TypeError: x or y is not floating-point.
        ValueError: there is no default session, or a value has another shape than was said.
    """
    for output in (x, y):
        if output.dtype not in FLOATING:
            raise TypeError(
                f"[compute_gradient] expected floating-point, got {output.dtype.name}: "
                f"{output.name!r}"
            )
    session = get_default_session()
    if session is None:
        raise ValueError(
            "[compute_gradient] expected a default session, got none: use `with session:`"
        )
    at = _start(x, x_shape) if x_init_value is None else np.asarray(x_init_value, x.dtype.as_numpy)
    if at.shape != tuple(x_shape):
        raise ValueError(f"[compute_gradient] expected x of shape {x_shape}, got {at.shape}")
    feeds = dict(extra_feed_dict or {})
    symbolic = _symbolic(session, x, y, at, tuple(y_shape), feeds)
    numeric = np.zeros_like(symbolic)
    for element in range(at.size):
        numeric[element] = _difference(session, x, y, at, element, delta or _step(x, y), feeds)
    return symbolic, numeric


def compute_gradient_error(
    x: Output,
    x_shape: Sequence[int],
    y: Output,
    y_shape: Sequence[int],
    x_init_value: Array | None = None,
    delta: float | None = None,
    extra_feed_dict: Mapping[Output, Any] | None = None,
) -> float:
    """The largest absolute difference of the two Jacobians of `compute_gradient`."""
    symbolic, numeric = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, extra_feed_dict
    )
    return float(np.max(np.abs(symbolic - numeric), initial=0.0))


def _start(x: Output, shape: Sequence[int]) -> Array:
    return np.random.default_rng(0).uniform(0.1, 1.0, tuple(shape)).astype(x.dtype.as_numpy)


def _step(x: Output, y: Output) -> float:
    return float(max(np.finfo(v.dtype.as_numpy).eps for v in (x, y)) ** (1 / 3))


def _symbolic(
    session: Session,
    x: Output,
    y: Output,
    at: Array,
    y_shape: tuple[int, ...],
    feeds: dict[Output, Any],
) -> Array:
    with y.graph.as_default():
        weights = placeholder(y.dtype, y_shape)
        (grad,) = gradients(y, x, weights)
    columns = int(np.prod(y_shape))
    jacobian = np.zeros((at.size, columns))
    if grad is None:
        return jacobian
    for column in range(columns):
        one_hot = np.zeros(columns, y.dtype.as_numpy)
        one_hot[column] = 1
        value = session.run(grad, feeds | {x: at, weights: one_hot.reshape(y_shape)})
        jacobian[:, column] = np.asarray(value, np.float64).reshape(-1)
    return jacobian


def _difference(
    session: Session,
    x: Output,
    y: Output,
    at: Array,
    element: int,
    delta: float,
    feeds: dict[Output, Any],
) -> Array:
    """The derivatives of all of y with respect to one element of x, by a central difference."""

    def moved(by: float) -> tuple[float, Array]:
        """The element as it is after rounding, and y there."""
        flat = at.reshape(-1).copy()
        flat[element] += by
        value = session.run(y, feeds | {x: flat.reshape(at.shape)})
        return float(flat[element]), np.asarray(value, np.float64).reshape(-1)

    high, above = moved(delta)
    low, below = moved(-delta)
    return (above - below) / (high - low)
