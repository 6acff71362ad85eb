"""`cond` and `case`: values, gradients, effects, and what is refused."""

import re
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow import case, cond
from qanat.control_flow.testing import compare, run, run_with_gradients
from qanat.core.base_ops import constant, identity, no_op, placeholder
from qanat.core.dtypes import bool_
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph, control_dependencies
from qanat.core.session import Session
from qanat.ops.variables import Variable

X = [0.5, -1.5]


def both(function: Any, *arrays: Any) -> None:
    """Checks a function of a predicate and arrays for both predicates."""
    for taken in (0.0, 1.0):
        run_with_gradients(lambda *xs, taken=taken: function(constant(taken) > 0.5, *xs), *arrays)


@pytest.mark.parametrize("x", [2.0, -2.0])
def test_values_and_gradients_are_those_of_the_branch(x: float) -> None:
    def build(x: Any) -> Any:
        return cond(x > 0, lambda: x * x, lambda: 3.0 * x)

    value, (grad,) = run_with_gradients(build, x)
    assert value == (4 if x > 0 else -6) and np.isclose(grad, 4 if x > 0 else 3)


def test_what_a_branch_computes_is_used_by_its_gradient() -> None:
    both(
        lambda p, x: cond(p, lambda: ops.exp(ops.sin(x)) * x, lambda: ops.tanh(x) / (x * x + 1.0)),
        X,
    )


def test_branches_use_different_inputs() -> None:
    both(lambda p, x, y: cond(p, lambda: x * 2.0, lambda: y * y) + x, X, X)


def test_a_branch_may_give_on_what_it_takes_in_or_a_constant() -> None:
    both(lambda p, x, y: cond(p, lambda: x, lambda: y), X, X)
    both(lambda p, x: cond(p, lambda: x * x, lambda: np.array([7.0, 8.0])), X)


def test_structures() -> None:
    def build(x: Any) -> Any:
        def then() -> Any:
            return {"b": x, "a": [x + 1.0, (x,)]}

        return cond(ops.reduce_sum(x) > 0, then, lambda: {"b": -x, "a": [x, (x * 2.0,)]})

    result = run(build, np.array([-1.0, -2.0]))
    assert list(result) == ["b", "a"]
    np.testing.assert_array_equal(result["a"][1][0], [-2, -4])
    np.testing.assert_array_equal(result["b"], [1, 2])


def test_only_one_branch_has_effects() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        counter, other = Variable(0, name="counter"), Variable(0, name="other")
        p = placeholder(bool_, [])
        ran = cond(p, lambda: counter.assign_add(1).op, lambda: other.assign_add(10).op)
        nothing = cond(p, lambda: None, lambda: None)
        session.run(ops.global_variables_initializer())
        for taken in (True, True, False):
            session.run([ran, nothing], {p: taken})
        assert session.run([counter, other]) == [2, 10]


def test_operations_without_inputs_belong_to_their_branch() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        count = Variable(0)
        p = placeholder(bool_, [])

        def then() -> Any:
            with control_dependencies([no_op()]), control_dependencies([count.assign_add(1).op]):
                return identity(constant(1))

        y = cond(p, then, lambda: constant(2))
        session.run(ops.global_variables_initializer())
        assert [session.run(y, {p: taken}) for taken in (False, True, False)] == [2, 1, 2]
        assert session.run(count) == 1


@pytest.mark.parametrize("outer", [0.0, 1.0])
@pytest.mark.parametrize("inner", [0.0, 1.0])
def test_nested(outer: float, inner: float) -> None:
    def build(x: Any, p: Any, q: Any) -> Any:
        return cond(
            p > 0.5,
            lambda: x * cond(q > 0.5, lambda: ops.exp(x), lambda: x * x),
            lambda: cond(q > 0.5, lambda: x + p, lambda: ops.sin(x) * q),
        )

    def unrolled(x: Any, p: Any, q: Any) -> Any:
        if outer:
            return x * (ops.exp(x) if inner else x * x)
        return x + p if inner else ops.sin(x) * q

    compare(build, unrolled, 0.7, outer, inner)


@pytest.mark.parametrize("x", [-3.0, 0.5, 4.0])
def test_case_takes_the_first_that_holds(x: float) -> None:
    def build(x: Any) -> Any:
        return case([(x < 0, lambda: -x), (x < 1, lambda: x * x)], default=lambda: 2.0 * x)

    value, _ = run_with_gradients(build, x)
    assert value == (-x if x < 0 else x * x if x < 1 else 2 * x)


def test_variables_in_branches_have_gradients() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        w = Variable(3.0)
        p = placeholder(bool_, [])
        y = cond(p, lambda: w * w, lambda: constant(1.0))
        (grad,) = gradients(y, w)
        session.run(w.initializer)
        assert session.run([y, grad], {p: True}) == [9, 6]
        assert session.run([y, grad], {p: False}) == [1, 0]


def test_a_fetch_in_a_branch_that_is_not_taken_is_an_error_that_names_it() -> None:
    inside: list[Any] = []
    with Graph().as_default() as graph, Session(graph=graph) as session:
        x = placeholder("float32", [])

        def then() -> Any:
            inside.append(x * 2.0)
            return inside[0]

        cond(x > 0, then, lambda: x)
        assert session.run(inside[0], {x: 2}) == 4
        with pytest.raises(InvalidArgumentError, match="does not take") as raised:
            session.run(inside[0], {x: -2})
        assert re.search(
            r"the true branch of 'cond', made at .*cond_test.py:\d+", str(raised.value)
        )
        with pytest.raises(InvalidArgumentError, match="the true branch of 'cond'"):
            session.run(inside[0].op, {x: -2})


def test_a_value_of_a_branch_is_not_to_be_used_outside() -> None:
    inside: list[Any] = []
    with Graph().as_default():
        x = placeholder("float32", [])
        cond(x > 0, lambda: inside.append(x + 1.0), lambda: None)
        with pytest.raises(ValueError, match=r"the true branch of 'cond', made at .*cond_test.py"):
            cond(x > 0, lambda: inside[0] * 2.0, lambda: x)


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    with Graph().as_default():
        x = placeholder("float32", [])
        y = cond(x > 0, lambda: x * x * x, lambda: x)
        (first,) = gradients(y, x)
        with pytest.raises(LookupError, match="a second one"):
            gradients(first, x)


@pytest.mark.parametrize(
    ("then", "otherwise", "error", "message"),
    [
        (lambda: constant(1), lambda: constant(1.0), TypeError, "same dtypes.*cond_test.py"),
        (lambda: [constant(1)], lambda: constant(1), ValueError, "same structure"),
        (lambda: constant(1), 3, TypeError, "functions"),
    ],
)
def test_branches_that_do_not_agree(
    then: Any, otherwise: Any, error: type[Exception], message: str
) -> None:
    with Graph().as_default(), pytest.raises(error, match=message):
        cond(placeholder(bool_, []), then, otherwise)


def test_branches_that_are_no_functions() -> None:
    with Graph().as_default():
        p, x = constant(True), constant(1.0)
        for true_fn, false_fn in ((x, x), (lambda: x, 3), (None, lambda: x)):
            with pytest.raises(TypeError, match="functions without arguments, such as .lambda: x"):
                cond(p, true_fn, false_fn)  # type: ignore[arg-type]


def test_predicates_that_are_none() -> None:
    with Graph().as_default():
        for p, message in ((True, "Python's `if`"), (constant(1), "scalar bool")):
            with pytest.raises(TypeError, match=message):
                cond(p, lambda: constant(1), lambda: constant(2))
