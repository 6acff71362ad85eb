"""The checker finds what is wrong, and passes what is right."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff.custom_gradient import custom_gradient
from qanat.autodiff.numeric import compute_gradient, compute_gradient_error
from qanat.core import dtypes
from qanat.core.base_ops import placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def test_a_right_gradient() -> None:
    x = placeholder(dtypes.float64, [2, 3])
    y = ops.matmul(x, x, transpose_b=True)
    assert compute_gradient_error(x, [2, 3], y, [2, 2]) < 1e-8


def test_a_wrong_gradient() -> None:
    wrong = custom_gradient(lambda x: (x * x, lambda dy: dy * x))
    x = placeholder(dtypes.float64, [2])
    error = compute_gradient_error(x, [2], wrong(x), [2], np.array([1.0, 3.0]))
    assert error == pytest.approx(3.0, abs=1e-6)


def test_jacobians() -> None:
    x = placeholder(dtypes.float64, [2])
    y = ops.stack([x[0] * x[1], x[0] * 2.0, x[1] * x[1]])
    symbolic, numeric = compute_gradient(x, [2], y, [3], np.array([2.0, 5.0]))
    expected = [[5, 2, 0], [2, 0, 10]]
    np.testing.assert_allclose(symbolic, expected)
    np.testing.assert_allclose(numeric, expected, atol=1e-8)


def test_unconnected_is_zero() -> None:
    x, z = placeholder(dtypes.float64, [2]), placeholder(dtypes.float64, [2])
    symbolic, numeric = compute_gradient(x, [2], z * z, [2], extra_feed_dict={z: np.ones(2)})
    assert not symbolic.any() and not numeric.any()


def test_empty() -> None:
    x = placeholder(dtypes.float64, [0, 3])
    symbolic, numeric = compute_gradient(x, [0, 3], x * x, [0, 3])
    assert symbolic.shape == numeric.shape == (0, 0)
    assert compute_gradient_error(x, [0, 3], x * x, [0, 3]) == 0


def test_float32_steps_are_larger() -> None:
    x = placeholder(dtypes.float32, [3])
    assert compute_gradient_error(x, [3], ops.exp(x), [3]) < 1e-3


def test_misuse() -> None:
    x, i = placeholder(dtypes.float64, [2]), placeholder(dtypes.int32, [2])
    with pytest.raises(TypeError, match="expected floating-point, got int32"):
        compute_gradient(i, [2], x, [2])
    with pytest.raises(ValueError, match=r"expected x of shape \[2\], got \(3,\)"):
        compute_gradient(x, [2], x, [2], np.ones(3))
