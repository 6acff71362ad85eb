"""Ops against NumPy on shapes, axes and subscripts that nobody thought of."""

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from qanat import ops
from qanat.autodiff import gradients
from qanat.core import base_ops, dtypes
from qanat.core.graph import Graph
from qanat.core.session import Session

SHAPES = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
BOUNDS = st.none() | st.integers(-6, 6)
STEPS = st.sampled_from([None, 1, 2, 3, -1, -2, -3])
PARTS = st.one_of(
    st.builds(slice, BOUNDS, BOUNDS, STEPS),
    st.builds(slice, st.none(), st.none(), STEPS),
    st.integers(-4, 3),
    st.none(),
)


def _array(shape: Any) -> Any:
    """Small whole numbers, so that sums are exact in any order."""
    return (np.arange(np.prod(shape)) % 7 - 3.0).reshape(shape)


def _run(function: Any, *arrays: Any) -> Any:
    """The function's value and its gradients, with all shapes known and with none."""
    results = []
    for known in (True, False):
        with Graph().as_default() as graph, Session(graph=graph) as session:
            inputs = [
                base_ops.placeholder(dtypes.float64, a.shape if known else [None] * a.ndim)
                for a in arrays
            ]
            y = function(*inputs)
            fetches = [y, *gradients(y, inputs)]
            results.append(session.run(fetches, dict(zip(inputs, arrays, strict=True))))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    return results[0]


def _summed_to(grad: Any, shape: Any) -> Any:
    leading = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(leading)))
    return grad.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@given(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=4))
def test_broadcasting(shapes: Any) -> None:
    a, b = (_array(shape) for shape in shapes.input_shapes)
    product, for_a, for_b = _run(lambda x, y: x * y, a, b)
    np.testing.assert_array_equal(product, a * b)
    ones = np.ones(shapes.result_shape)
    np.testing.assert_array_equal(for_a, _summed_to(ones * b, a.shape))
    np.testing.assert_array_equal(for_b, _summed_to(ones * a, b.shape))


@st.composite
def _reductions(draw: Any) -> Any:
    shape = draw(SHAPES)
    axes = draw(st.sets(st.integers(0, max(len(shape) - 1, 0)))) if shape else set()
    signed = [axis - len(shape) if draw(st.booleans()) else axis for axis in sorted(axes)]
    return shape, signed, draw(st.booleans())


@given(_reductions())
def test_reductions(form: Any) -> None:
    shape, axes, keep = form
    x = _array(shape)
    total, grad = _run(lambda v: ops.reduce_sum(v, axes, keepdims=keep), x)
    np.testing.assert_array_equal(total, x.sum(tuple(axes), keepdims=keep))
    np.testing.assert_array_equal(grad, np.ones(shape))
    largest, _ = _run(lambda v: ops.reduce_max(v, axes, keepdims=keep), x)
    np.testing.assert_array_equal(
        largest, np.max(x, tuple(axes), keepdims=keep, initial=-np.inf)
    )


@st.composite
def _subscripts(draw: Any) -> Any:
    shape = draw(SHAPES)
    parts = draw(st.lists(PARTS, max_size=len(shape) + 1))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    return shape, tuple(parts)


@settings(max_examples=300)
@example(((5,), (slice(None, None, 2),)))
@given(_subscripts())
def test_subscripts(subscript: Any) -> None:
    shape, key = subscript
    x = _array(shape)
    try:
        expected = x[key]
    except IndexError:
        return
    part, grad = _run(lambda v: v[key], x)
    np.testing.assert_array_equal(part, expected)
    taken = np.zeros(shape)
    taken[key] = 1
    np.testing.assert_array_equal(grad, taken)


@given(SHAPES.filter(len), st.data())
def test_slices(shape: Any, data: Any) -> None:
    x = _array(shape)
    begin = [data.draw(st.integers(0, n)) for n in shape]
    size = [data.draw(st.integers(-1, n - b)) for n, b in zip(shape, begin, strict=True)]
    key = tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, size, strict=True))
    part, grad = _run(lambda v: ops.slice(v, begin, size), x)
    np.testing.assert_array_equal(part, x[key])
    taken = np.zeros(shape)
    taken[key] = 1
    np.testing.assert_array_equal(grad, taken)
