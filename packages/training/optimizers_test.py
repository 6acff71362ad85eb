"""Each optimizer does what its paper says, step by step, and the graph is what users expect."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph
from qanat.core.session import Session
from qanat.ops.variables import Variable, global_variables, global_variables_initializer
from qanat.training import (
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    SyncReplicasOptimizer,
    create_global_step,
    exponential_decay,
)

Array = np.ndarray[Any, Any]
START = np.array([1.0, -2.0, 3.0])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def trajectory(optimizer: Any, dtype: Any, steps: int = 4) -> list[Array]:
    """The variable after each step on the loss sum(x^2 / 2), whose gradient is x."""
    x = Variable(START.astype(dtype.as_numpy))
    train = optimizer.minimize(ops.reduce_sum(x * x) * 0.5)
    with Session() as session:
        session.run(global_variables_initializer())
        values = []
        for _ in range(steps):
            session.run(train)
            values.append(session.run(x))
    return values


def expected(step: Callable[[int, Array], Array], steps: int = 4) -> list[Array]:
    x, values = START, []
    for t in range(1, steps + 1):
        x = x - step(t, x)
        values.append(x)
    return values


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_gradient_descent(dtype: Any) -> None:
    given = trajectory(GradientDescentOptimizer(0.1), dtype)
    np.testing.assert_allclose(given, expected(lambda t, g: 0.1 * g), rtol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_momentum(dtype: Any, nesterov: bool) -> None:
    accumulation = np.zeros(3)

    def step(t: int, g: Array) -> Array:
        nonlocal accumulation
        accumulation = 0.9 * accumulation + g
        return 0.1 * (g + 0.9 * accumulation if nesterov else accumulation)

    given = trajectory(MomentumOptimizer(0.1, 0.9, use_nesterov=nesterov), dtype)
    np.testing.assert_allclose(given, expected(step), rtol=1e-5)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
def test_adam(dtype: Any) -> None:
    m, v = np.zeros(3), np.zeros(3)

    def step(t: int, g: Array) -> Array:
        nonlocal m, v
        m = 0.8 * m + 0.2 * g
        v = 0.9 * v + 0.1 * g * g
        return 0.1 * np.sqrt(1 - 0.9**t) / (1 - 0.8**t) * m / (np.sqrt(v) + 1e-8)

    given = trajectory(AdamOptimizer(0.1, beta1=0.8, beta2=0.9), dtype)
    np.testing.assert_allclose(given, expected(step), rtol=1e-5)


def test_names_of_slots() -> None:
    x = Variable([1.0], name="layer/kernel")
    loss = ops.reduce_sum(x * x)
    momentum, adam = MomentumOptimizer(0.1, 0.9), AdamOptimizer()
    momentum.minimize(loss)
    adam.minimize(loss)
    assert [variable.op.name for variable in global_variables()] == [
        "layer/kernel",
        "layer/kernel/Momentum",
        "layer/kernel/Adam",
        "layer/kernel/Adam_1",
        "beta1_power",
        "beta2_power",
    ]
    assert momentum.get_slot_names() == ["momentum"] and adam.get_slot_names() == ["m", "v"]
    slot = momentum.get_slot(x, "momentum")
    assert slot is not None and slot.op.name == "layer/kernel/Momentum" and slot.shape == [1]
    assert momentum.get_slot(x, "other") is None
    assert momentum.variables() == [slot] and len(adam.variables()) == 4


def test_the_variables_that_are_trained() -> None:
    x, fixed = Variable(2.0), Variable(5.0, trainable=False)
    train = GradientDescentOptimizer(1.0).minimize(x * fixed)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        assert session.run([x, fixed]) == [-3.0, 5.0]


def test_var_list_and_grad_loss() -> None:
    x, y = Variable([2.0, 3.0]), Variable([1.0, 1.0])
    optimizer = GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(x * y, [x], grad_loss=constant([1.0, 10.0]))
    assert [variable for _, variable in pairs] == [x]
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(optimizer.apply_gradients(pairs))
        np.testing.assert_array_equal(session.run(x), [1, -7])
        np.testing.assert_array_equal(session.run(y), [1, 1])


def test_the_global_step_is_counted_after_the_updates() -> None:
    step = create_global_step()
    x = Variable(1.0)
    rate = exponential_decay(1.0, step, 1, 0.5)
    train = GradientDescentOptimizer(rate).minimize(x * 1.0, global_step=step)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        session.run(train)
        assert session.run([step, x]) == [2, 1.0 - 1.0 - 0.5]


def test_the_rate_may_be_fed() -> None:
    rate = placeholder(dtypes.float32, [])
    x = Variable(1.0)
    train = GradientDescentOptimizer(rate).minimize(x * 1.0)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train, {rate: 0.25})
        assert session.run(x) == 0.75


def test_the_rate_may_be_a_variable_of_another_dtype() -> None:
    x, rate = Variable(np.float64(1.0)), Variable(np.float32(0.5), trainable=False)
    optimizer = GradientDescentOptimizer(rate)
    pairs = optimizer.compute_gradients(x * 2.0)
    train = optimizer.apply_gradients((grad, variable) for grad, variable in pairs)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        assert session.run(x) == 0.0


def test_variables_without_a_gradient_are_left_alone() -> None:
    x, y = Variable(1.0), Variable(7.0)
    train = GradientDescentOptimizer(1.0).minimize(x * 2.0)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        assert session.run([x, y]) == [-1.0, 7.0]


def test_a_constraint_is_applied_after_the_update() -> None:
    x = Variable(1.0, constraint=lambda value: ops.maximum(value, 0.0))
    train = GradientDescentOptimizer(1.0).minimize(x * 2.0)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        assert session.run(x) == 0.0


def test_updates_are_colocated_with_their_variable(graph: Any) -> None:
    x = Variable([1.0], name="kernel")
    before = set(graph.get_operations())
    MomentumOptimizer(0.1, 0.9).minimize(ops.reduce_sum(x * x))
    updates = [
        op
        for op in graph.get_operations()
        if op not in before and op.type.startswith("Assign") and op.name.startswith("Momentum/")
    ]
    changed = [op.inputs[0].op for op in updates]  # an update is where its variable is
    assert len(changed) == 2 and x.handle.op in changed
    assert all("kernel" in op.colocation_groups() for op in changed if op is not x.handle.op)


def test_misuse() -> None:
    x = Variable(1.0)
    optimizer = GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match=r"\[GradientDescent\] expected a gradient.*Variable"):
        optimizer.minimize(constant(1.0) * 2.0)
    with pytest.raises(ValueError, match="expected variables to optimize, got none"):
        optimizer.minimize(x * 1.0, var_list=[])


@pytest.mark.parametrize(
    "optimizer",
    [
        GradientDescentOptimizer(0.1),
        MomentumOptimizer(0.1, 0.9),
        AdamOptimizer(),
        SyncReplicasOptimizer(AdamOptimizer(), 1),
    ],
)
def test_a_gradient_has_to_fit_its_variable(optimizer: Any) -> None:
    x, step = Variable([[1.0, 2.0]], name="kernel"), create_global_step()

    def refused(error: type[Exception], message: str, *pairs: Any) -> None:
        with pytest.raises(error, match=message):
            optimizer.apply_gradients(pairs, step)

    wanted = r"dtype float32 and shape \[1,2\] for variable 'kernel', got "
    refused(ValueError, wanted, (constant(1.0), x))
    refused(ValueError, wanted, (constant([[1.0], [2.0]]), x))
    refused(TypeError, wanted, (constant([[1, 2]]), x))
    refused(TypeError, r"expected pairs \(gradient, Variable\), got", (x, constant([[1.0, 2.0]])))
    refused(TypeError, r"expected pairs \(gradient, Variable\), got", x)
    refused(ValueError, "expected a gradient for at least one variable", (None, x))


def test_a_gradient_may_be_an_array() -> None:
    x = Variable([1.0, 2.0])
    train = AdamOptimizer(1.0).apply_gradients([(np.array([1.0, 1.0], np.float32), x)])
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(x), [0, 1], atol=1e-4)


def test_variables_that_cannot_be_trained() -> None:
    x = Variable(1.0)
    step = Variable(0, name="step")
    with pytest.raises(TypeError, match="floating-point.*'step:0'.*trainable=False"):
        GradientDescentOptimizer(0.1).minimize(x * 2.0)
    with pytest.raises(TypeError, match=r"\[Adam\] expected an integer Variable as global_step"):
        AdamOptimizer().minimize(x * 2.0, global_step=step.value(), var_list=[x])  # type: ignore[arg-type]
