"""What `gradients` returns, how the graph grows, and what it refuses."""

from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.autodiff.gradients import gradients
from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.graph import Graph, name_scope
from qanat.core.session import Session
from qanat.ops.variables import Variable, global_variables_initializer


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feeds: Any = None) -> Any:
    with Session() as session:
        session.run(global_variables_initializer())
        return session.run(fetches, feeds)


def fed(*shape: int | None, dtype: Any = dtypes.float32) -> Any:
    return placeholder(dtype, list(shape))


# Values.


def test_a_product() -> None:
    x, y = constant(3.0), constant(5.0)
    assert run(gradients(x * y, [x, y])) == [5.0, 3.0]


def test_partial_derivatives_that_meet_are_summed() -> None:
    x = constant([1.0, 2.0])
    (two,) = gradients(x * x, x)
    (three,) = gradients(x + x + x, x)
    np.testing.assert_array_equal(run(two), [2, 4])
    np.testing.assert_array_equal(run(three), [3, 3])


def test_several_ys_are_summed() -> None:
    x = constant(2.0)
    assert run(gradients([x * 3.0, x * x], x)) == [7.0]


def test_grad_ys_are_weights() -> None:
    x = constant([1.0, 2.0])
    (grad,) = gradients([x * x, x], [x], grad_ys=[constant([10.0, 100.0]), None])
    np.testing.assert_array_equal(run(grad), [21, 401])


def test_a_y_that_is_an_x() -> None:
    x = constant([1.0, 2.0])
    np.testing.assert_array_equal(run(gradients(x, x)[0]), [1, 1])


def test_derivatives_are_total() -> None:
    x = constant(3.0)
    y = x * x
    assert run(gradients(y * x, [x, y])) == [27.0, 3.0]


def test_second_and_third_order() -> None:
    x = constant(2.0)
    (first,) = gradients(x * x * x * x, x)
    (second,) = gradients(first, x)
    (third,) = gradients(second, x)
    assert run([first, second, third]) == [32.0, 48.0, 48.0]


def test_a_graph_deeper_than_the_stack_of_python() -> None:
    x = y = constant(1.0)
    for _ in range(3000):
        y = ops.negative(y)
    assert run(gradients(y, x)) == [1.0]


def test_outputs_that_no_gradient_reaches() -> None:
    x = fed(4)
    first, _, third = ops.split(x, [1, 1, 2])
    (grad,) = gradients([first * 2.0, third * 3.0], x)
    np.testing.assert_array_equal(run(grad, {x: np.ones(4, np.float32)}), [2, 0, 3, 3])


def test_where_with_an_unbounded_derivative_on_the_side_not_taken() -> None:
    x = constant([0.0, 2.0])
    (grad,) = gradients(ops.where(x > 0.0, ops.log(x), x), x)
    np.testing.assert_array_equal(run(grad), [1, 0.5])


# Variables.


def test_all_reads_of_a_variable_count() -> None:
    v = Variable([1.0, 2.0])
    loss = ops.reduce_sum(v * v.read_value() * 3.0)
    (grad,) = gradients(loss, v)
    assert grad.dtype is dtypes.float32 and grad.shape == [2]
    np.testing.assert_array_equal(run(grad), [6, 12])


def test_a_variable_is_the_same_as_its_handle() -> None:
    v = Variable(2.0)
    assert run(gradients(v * v, [v.handle, v])) == [4.0, 4.0]


def test_a_single_read_of_a_variable() -> None:
    v = Variable(2.0)
    read = v.read_value()
    assert run(gradients(v.read_value() * read, read)) == [2.0]


def test_a_variable_as_y() -> None:
    v = Variable(2.0)
    assert run(gradients(v, v)) == [1.0]


# Unconnected, stopped, not differentiable.


def test_unconnected_is_none() -> None:
    x, y = constant(1.0), constant(2.0)
    assert gradients(y * y, [x, Variable(1.0)]) == [None, None]
    assert gradients([], [x]) == [None]


def test_nothing_is_added_for_what_is_unconnected(graph: Any) -> None:
    x, y = constant(1.0), constant(2.0)
    z = ops.exp(y)
    before = len(graph.get_operations())
    gradients(z, x)
    added = [op.type for op in graph.get_operations()[before:]]
    assert "Mul" not in added and "MulNoNan" not in added


def test_nothing_is_summed_where_no_x_acts(graph: Any) -> None:
    x, y = constant(1.0), constant(2.0)
    loss = y * x + y * y * x
    before = len(graph.get_operations())
    (grad,) = gradients(loss, x)
    assert [op for op in graph.get_operations()[before:] if op.type == "Add"] == [grad.op]


def test_integers_carry_no_derivative() -> None:
    x = constant(2.5)
    through_integer = ops.cast(ops.cast(x, dtypes.int32), dtypes.float32)
    assert gradients(through_integer, x) == [None]
    assert run(gradients(through_integer * x, x)) == [2.0]


def test_an_op_declared_without_derivative_is_a_constant() -> None:
    x = constant(2.5)
    assert run(gradients(ops.floor(x) * x, x)) == [2.0]


def test_stop_gradient_operation() -> None:
    x = constant(3.0)
    assert run(gradients(ops.stop_gradient(x) * x, x)) == [3.0]


def test_stop_gradients_argument() -> None:
    x = constant(3.0)
    y = x * x
    # y is a constant for x; for y itself the derivative is what it is.
    assert run(gradients(y * x, [x, y], stop_gradients=[y])) == [9.0, 3.0]


def test_stop_gradients_at_a_variable() -> None:
    v, w = Variable(3.0), Variable(5.0)
    assert run(gradients(v * w, [w], stop_gradients=v)) == [3.0]


def test_no_gradient_names_the_operation_and_the_line() -> None:
    x = constant([0.5, 2.0])
    y = ops.floormod(x, constant([1.0, 1.0]), name="folded")
    y.op.op_def, original = _without_gradient(y.op.op_def), y.op.op_def
    try:
        with pytest.raises(LookupError, match=r"\[FloorMod\].*folded.*gradients_test.py:\d+"):
            gradients(y, x)
    finally:
        y.op.op_def = original


def _without_gradient(op_def: Any) -> Any:
    import copy

    changed = copy.copy(op_def)
    changed.gradient = None
    return changed


# What the graph gets.


def test_names_and_colocation(graph: Any) -> None:
    with name_scope("layer"):
        x = constant([[1.0]])
        y = ops.matmul(x, x, name="product")
    before = set(graph.get_operations())
    gradients(y, x)
    added = [op for op in graph.get_operations() if op not in before and op.type == "MatMul"]
    assert all(op.name.startswith("gradients/layer/product_grad/") for op in added)
    assert all("layer/product" in op.colocation_groups() for op in added)


def test_static_shapes_come_from_the_inputs() -> None:
    x = fed(None, 3)
    w = fed(3, 5)
    dx, dw = gradients(ops.matmul(x, w), [x, w])
    assert dx.shape.as_list() == [None, 3]
    assert dw.shape.as_list() == [3, 5]


def test_a_rule_may_know_less_than_the_static_shape() -> None:
    x = fed(2, 3)
    y = identity(x)
    y.op.gradient_override = lambda op, grad: [placeholder(dtypes.float32)]
    (grad,) = gradients(y, x)
    assert grad.shape == [2, 3]


def test_another_default_graph_does_not_matter(graph: Any) -> None:
    x = constant(2.0)
    y = x * x
    with Graph().as_default():
        (grad,) = gradients(y, x)
    assert grad.graph is graph


# Misuse.


def test_integer_y_and_x() -> None:
    i, x = constant(1), constant(1.0)
    with pytest.raises(TypeError, match=r"expected floating-point or complex ys, got int32.*_test"):
        gradients(i, x)
    with pytest.raises(TypeError, match=r"expected floating-point or complex xs, got int32"):
        gradients(x, i)


def test_what_is_no_output() -> None:
    x = constant(1.0)
    for other in (None, "x:0", x.op):
        with pytest.raises(TypeError, match="expected Outputs, Variables or lists of them, got "):
            gradients(x, other)
    with pytest.raises(TypeError, match="expected Outputs or Variables as xs, got 3"):
        gradients(x, [3])


def test_wrong_number_of_grad_ys() -> None:
    x = constant(1.0)
    with pytest.raises(ValueError, match="expected 1 grad_ys, one a y, got 2"):
        gradients(x * x, x, [None, None])


def test_wrong_shape_and_dtype_of_a_grad_y() -> None:
    x = constant([1.0, 2.0])
    with pytest.raises(ValueError, match=r"grad_y of shape \[2\].*got \[3\]"):
        gradients(x * x, x, constant([1.0, 2.0, 3.0]))
    with pytest.raises(TypeError, match="expected float32"):
        gradients(x * x, x, constant([1.0, 2.0], dtypes.float64))


def test_two_graphs() -> None:
    x = constant(1.0)
    with Graph().as_default():
        y = constant(1.0)
        with pytest.raises(ValueError, match="expected outputs of one graph"):
            gradients(y, x)


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda grad: [], ValueError, "one entry for each of the 1 inputs, got 0"),
        (lambda grad: [1.0], TypeError, "expected an Output or None for input 0, got float"),
        (lambda grad: grad, TypeError, "expected a list with an entry an input, got an Output"),
        (
            lambda grad: [ops.cast(grad, dtypes.float64)],
            TypeError,
            "expected dtype float32 for input 0, got float64",
        ),
        (
            lambda grad: [constant([1.0, 2.0])],
            ValueError,
            r"expected shape \[3\] for input 0, got \[2\]",
        ),
    ],
)
def test_a_rule_that_returns_nonsense(returned: Any, error: Any, message: str) -> None:
    x = constant([1.0, 2.0, 3.0])
    y = identity(x)
    y.op.gradient_override = lambda op, grad: returned(grad)
    with pytest.raises(error, match=message):
        gradients(y, x)


def test_an_error_in_a_rule_says_which() -> None:
    x = constant([1.0, 2.0, 3.0])
    y = identity(x, name="twisted")
    y.op.gradient_override = lambda op, grad: [ops.matmul(grad, grad)]
    with pytest.raises(ValueError) as raised:
        gradients(y, x)
    assert "gradient of node 'twisted', made at" in raised.value.__notes__[0]


@pytest.mark.parametrize(("shape", "axis"), [((0, 2), 1), ((2, 0), 0), ((0, 2, 3), 1)])
def test_what_is_gathered_from_an_empty_batch_has_a_gradient(
    shape: tuple[int, ...], axis: int
) -> None:
    x = fed(*[None] * len(shape))
    (grad,) = gradients(ops.gather(x, [1, 0], axis=axis), [x])
    assert run(grad, {x: np.zeros(shape, np.float32)}).shape == shape
