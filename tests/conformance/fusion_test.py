"""What rewrites make of a step gives the same bits as the step itself."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import qanat as qn
from qanat import ops
from qanat.core import dtypes
from qanat.core.graph import Graph, Output
from qanat.core.op_def import OpBuilder
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Input
from qanat.ops.fused_elementwise import is_fusible
from qanat.training import (
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    Optimizer,
)

FLOATS = (dtypes.float32, dtypes.float64)
CONFIGS = [qn.SessionConfig(optimise=optimise, threads=2) for optimise in (False, True)]


def ops_of(session: qn.Session) -> set[str]:
    """The ops of all steps that the session has run."""
    return {node.op for plan in session._plans.values() for node in plan.step}


def both(graph: Graph, run: Callable[[qn.Session], Any], fused_op: str) -> None:
    """Runs with and without rewrites, and compares bit for bit."""
    results = []
    for config in CONFIGS:
        with qn.Session(graph=graph, config=config) as session:
            results.append([np.asarray(value).tobytes() for value in run(session)])
            assert (fused_op in ops_of(session)) == config.optimise
    assert results[0] == results[1]


def is_joined(case: Case) -> bool:
    """Whether the rule takes the case's op: of two floats' types, on inputs of one shape."""
    shapes = {one.shape for one in _flat(case.inputs) if isinstance(one, Input)}
    fusible = isinstance(case.op, OpBuilder) and is_fusible(case.op.op_def)
    return fusible and len(shapes) == 1 and 0 not in shapes.pop()


def _flat(inputs: Any) -> list[Any]:
    return [one for x in inputs for one in (_flat(x) if isinstance(x, (list, tuple)) else [x])]


FUSIBLE = [
    (case, dtype)
    for case, dtype in sweep.tried(filter(is_joined, sweep.find_cases(ops)))
    if dtype in FLOATS
]


@pytest.mark.parametrize(("case", "dtype"), FUSIBLE, ids=sweep.name_of)
def test_every_fusible_op_gives_the_same_in_a_program(case: Case, dtype: Any) -> None:
    built = sweep.build(case, dtype)
    with built.graph.as_default():
        (y,) = built.outputs
        doubled = y + y
    both(built.graph, lambda session: [session.run(doubled, built.feeds)], "_FusedElementwise")


def weights(shape: list[int]) -> qn.Variable:
    values = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    return qn.Variable(values)


@pytest.mark.parametrize(
    "optimizer",
    [
        GradientDescentOptimizer(0.1),
        MomentumOptimizer(0.1, 0.9),
        MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        AdamOptimizer(0.01),
    ],
    ids=lambda optimizer: type(optimizer).__name__,
)
def test_optimizers(optimizer: Optimizer) -> None:
    with Graph().as_default() as graph:
        w = weights([70, 1000])
        train = optimizer.minimize(qn.reduce_sum(qn.square(w) * 0.5 + w))
        start = qn.global_variables_initializer()
        everything = qn.global_variables()

    def run(session: qn.Session) -> Any:
        session.run(start)
        for _ in range(3):
            session.run(train)
        return session.run(everything)

    both(graph, run, "_FusedElementwise")


def layer(kind: str) -> Output:
    generator = np.random.default_rng(3)

    def drawn(*shape: int) -> Any:
        return generator.standard_normal(shape).astype(np.float32)

    if kind == "dense":
        product = qn.matmul(drawn(33, 50), drawn(50, 24))
    else:
        # The large one is computed by Winograd's method, the other directly.
        size, channels = (15, 40) if kind == "large conv" else (9, 3)
        images, filters = drawn(2, size, size, channels), drawn(5, 5, channels, 24)
        product = qn.nn.conv2d(images, filters, [1, 1, 1, 1], "SAME")
    return qn.nn.relu(qn.nn.bias_add(product, drawn(24)))


@pytest.mark.parametrize(
    ("kind", "op"),
    [("dense", "_FusedMatMul"), ("conv", "_FusedConv2D"), ("large conv", "_FusedConv2D")],
)
def test_products_with_bias_and_relu(kind: str, op: str) -> None:
    with Graph().as_default() as graph:
        y = layer(kind)
    both(graph, lambda session: [session.run(y)], op)


def test_an_update_of_an_uninitialised_variable_names_it() -> None:
    with Graph().as_default() as graph:
        w = weights([10])
        train = MomentumOptimizer(0.1, 0.9).minimize(qn.reduce_sum(w * 2.0))
    for config in CONFIGS:
        with qn.Session(graph=graph, config=config) as session:
            with pytest.raises(qn.errors.FailedPreconditionError, match="Variable"):
                session.run(train)


def test_a_sum_of_many() -> None:
    """What a program has no room for stays a node of its own."""
    terms = [qn.constant(np.full(3, i, np.float32)) for i in range(90)]
    with qn.Session(config=qn.SessionConfig(optimise=True)) as session:
        held = [qn.identity(term) for term in terms]
        got = session.run(qn.tanh(qn.add_n(held) * 0.001))
    np.testing.assert_allclose(got, np.tanh(np.full(3, 4.005)), rtol=1e-6)


def _halves(terms: list[qn.Tensor]) -> qn.Tensor:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _halves(terms[:middle]) * _halves(terms[middle:])


def _ladder(terms: list[qn.Tensor]) -> qn.Tensor:
    """Each result is used again at the end, in the order they were made in."""
    steps = [terms[0]]
    for term in terms[1:]:
        steps.append(steps[-1] * 0.5 + term)
    total = steps[-1]
    for step in steps[:-1]:
        total = total * step * 0.1
    return total


@pytest.mark.parametrize("count", [12, 13, 40])
@pytest.mark.parametrize("total", [qn.add_n, _halves, _ladder])
def test_many_results_at_a_time(total: Callable[[list[qn.Tensor]], qn.Tensor], count: int) -> None:
    """Kernels hold a dozen results at a time; what needs more is taken apart."""
    fed = [qn.placeholder(qn.float32, [3]) for _ in range(count)]
    values = [np.full(3, 0.9 + i / 100, np.float32) for i in range(count)]
    feeds = dict(zip(fed, values, strict=True))
    result = qn.exp(total([qn.sqrt(x) for x in fed]) * 0.01)
    got = []
    for optimise in (True, False):
        with qn.Session(config=qn.SessionConfig(optimise=optimise)) as session:
            got.append(session.run(result, feeds))
    np.testing.assert_allclose(got[0], got[1], rtol=1e-5)


def test_many_updates_by_results_of_one_program() -> None:
    """Updates stand last, so all results that they use are held."""
    with qn.Graph().as_default():
        variables = [qn.Variable(np.full(3, 1.0, np.float32)) for _ in range(14)]
        value = qn.placeholder(qn.float32, [3])
        updates, change = [], value
        for variable in variables:
            change = qn.tanh(change * 1.5)
            updates.append(variable.assign_sub(change).op)
        with qn.Session(config=qn.SessionConfig(optimise=True)) as session:
            session.run(qn.global_variables_initializer())
            session.run(updates, {value: np.full(3, 0.25, np.float32)})
            got = session.run([v.read_value() for v in variables])
    expected = np.full(3, 0.25, np.float32)
    for found in got:
        expected = np.tanh(expected * 1.5)
        np.testing.assert_allclose(found, 1 - expected, rtol=1e-5)


# A program of variables: each instruction reads one (or uses the last result), computes with it,
# and changes one.
INSTRUCTIONS = st.lists(
    st.tuples(
        st.integers(-1, 2),
        st.sampled_from(["value", "double", "sum"]),
        st.integers(0, 2),
        st.sampled_from(["assign", "assign_add", "assign_sub"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(INSTRUCTIONS)
@example([(-1, "double", 0, "assign_add"), (0, "sum", 1, "assign_add")])  # a read after an update
@example([(0, "value", 1, "assign_add"), (-1, "double", 0, "assign")])  # the old value is kept
def test_reads_and_updates_in_order(program: list[tuple[int, str, int, str]]) -> None:
    """What control edges order stays in order, whatever is joined."""
    feed = np.array([1.5, -2.0, 0.25, 3.0], np.float32)
    held = [np.full(4, i + 1, np.float32) for i in range(3)]
    with qn.Graph().as_default():
        variables = [qn.Variable(value.copy()) for value in held]
        fed = qn.placeholder(qn.float32, [4])
        last, expected = fed * 0.5, feed * np.float32(0.5)
        before: list[qn.Operation] = []
        for source, how, target, update in program:
            with qn.control_dependencies(before):
                read = last if source < 0 else variables[source].read_value()
            value = expected if source < 0 else held[source]
            if how == "double":
                value, read = value * np.float32(2.0), read * 2.0
            elif how == "sum":
                value, read = value + expected, read + last
            last, expected = read, value
            with qn.control_dependencies(before):
                before = [getattr(variables[target], update)(read, read_value=False)]
            held[target] = {
                "assign": value,
                "assign_add": held[target] + value,
                "assign_sub": held[target] - value,
            }[update]
        for config in CONFIGS:
            with qn.Session(config=config) as session:
                session.run(qn.global_variables_initializer())
                session.run(before, {fed: feed})
                got = session.run([variable.read_value() for variable in variables])
                np.testing.assert_array_equal(got, held)


def test_programs_fit_the_kernels_for_gpus() -> None:
    from qanat.kernels_cuda.kernels import fused
    from qanat.ops import fused_elementwise as rule

    assert rule.MOST_HANDLES + rule.MOST_VALUES <= fused.MAX_ARRAYS
    assert rule.MOST_INSTRUCTIONS <= fused.MAX_INSTRUCTIONS
