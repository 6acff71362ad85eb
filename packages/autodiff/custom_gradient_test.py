"""Functions that bring their own gradient along."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff.custom_gradient import custom_gradient
from qanat.autodiff.gradients import gradients
from qanat.core.base_ops import constant
from qanat.core.graph import Graph
from qanat.core.session import Session


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def test_the_gradient_given_is_used(session: Any) -> None:
    @custom_gradient
    def log1pexp(x: Any) -> Any:
        e = ops.exp(x)
        return ops.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    x = constant(100.0)
    y = log1pexp(x)
    assert session.run(gradients(y, x)) == [1.0]


def test_it_can_be_differentiated_again(session: Any) -> None:
    @custom_gradient
    def square(x: Any) -> Any:
        return x * x, lambda dy: dy * 2.0 * x

    x = constant(3.0)
    (first,) = gradients(square(x), x)
    assert session.run([first, *gradients(first, x)]) == [6.0, 2.0]


def test_a_straight_through_estimator(session: Any) -> None:
    round_through = custom_gradient(lambda x: (ops.round(x), lambda dy: dy))
    x = constant([0.2, 1.7])
    y = round_through(x)
    value, grad = session.run([y, gradients(y * 3.0, x)[0]])
    np.testing.assert_array_equal(value, [0, 2])
    np.testing.assert_array_equal(grad, [3, 3])


def test_several_arguments_and_results(session: Any) -> None:
    seen = []

    @custom_gradient
    def sum_and_difference(a: Any, b: Any) -> Any:
        def backward(d_sum: Any, d_difference: Any) -> Any:
            seen.append(d_difference)
            return [d_sum * 10.0, None]

        return [a + b, a - b], backward

    a, b = constant(2.0), constant(3.0)
    total, difference = sum_and_difference(a, b)
    assert session.run([total, difference]) == [5.0, -1.0]
    grad_a, grad_b = gradients(total, [a, b])
    assert session.run(grad_a) == 10.0
    assert grad_b is None and seen == [None]


def test_what_f_builds_is_not_differentiated(session: Any) -> None:
    @custom_gradient
    def blocked(x: Any) -> Any:
        return x * x, lambda dy: None

    x = constant(3.0)
    assert session.run(gradients(blocked(x) + x, x)) == [1.0]


def test_a_wrong_number_of_gradients() -> None:
    @custom_gradient
    def product(a: Any, b: Any) -> Any:
        return a * b, lambda dy: [dy]

    a = constant(1.0)
    with pytest.raises(ValueError, match="product expected 2 gradients.*got 1"):
        gradients(product(a, a), a)


@pytest.mark.parametrize(
    "returned",
    [
        lambda x: x * 2.0,
        lambda x: ops.split(x, 2),
        lambda x: [x * 2.0],
        lambda x: (x, x),
        lambda x: None,
        lambda x: (x, lambda dy: dy, "more"),
    ],
)
def test_only_a_pair_of_results_and_a_function_is_taken(returned: Any) -> None:
    def doubled(x: Any) -> Any:
        return returned(x)

    with pytest.raises(TypeError, match=r"expected doubled to return \(result .*, got "):
        custom_gradient(doubled)(constant([1.0, 2.0]))
