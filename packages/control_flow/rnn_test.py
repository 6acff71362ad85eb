"""Recurrent cells and `dynamic_rnn` beside NumPy and unrolled graphs."""

from typing import Any

import numpy as np
import pytest

import qanat.control_flow.rnn_cell as cells
from qanat import ops
from qanat.autodiff import gradients
from qanat.control_flow.rnn import dynamic_rnn
from qanat.core.base_ops import placeholder
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph
from qanat.core.session import Session

BATCH, TIME, FEATURES, UNITS = 2, 4, 3, 5
GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(BATCH, TIME, FEATURES))

CELLS = [
    lambda: cells.BasicRNNCell(UNITS),
    lambda: cells.LSTMCell(UNITS),
    lambda: cells.GRUCell(UNITS),
    lambda: cells.MultiRNNCell([cells.BasicLSTMCell(4), cells.GRUCell(UNITS)]),
]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_the_lstm_is_its_formula() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        cell = cells.LSTMCell(UNITS)
        x = placeholder("float64", [BATCH, FEATURES])
        state = cell.zero_state(BATCH, "float64")
        output, (c, h) = cell(x, cells.LSTMStateTuple(state.c + 0.5, state.h + 0.25))
        session.run(ops.global_variables_initializer())
        kernel, bias = session.run(cell.variables)
        got = session.run([output, c, h], {x: X[:, 0]})
        z = np.concatenate([X[:, 0], np.full((BATCH, UNITS), 0.25)], 1) @ kernel + bias
        i, j, f, o = np.split(z, 4, axis=1)
        new_c = 0.5 * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
        new_h = np.tanh(new_c) * sigmoid(o)
        for value, expected in zip(got, [new_h, new_c, new_h], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("make", CELLS)
@pytest.mark.parametrize("time_major", [False, True])
def test_a_loop_over_time_is_the_cell_unrolled(make: Any, time_major: bool) -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        cell = make()
        x = placeholder("float64", [BATCH, None, FEATURES])
        given = ops.transpose(x, [1, 0, 2]) if time_major else x
        outputs, state = dynamic_rnn(cell, given, dtype="float64", time_major=time_major)
        if time_major:
            outputs = ops.transpose(outputs, [1, 0, 2])
        assert outputs.shape.dims == (BATCH, None, UNITS)
        unrolled, last = [], cell.zero_state(BATCH, "float64")
        for t in range(TIME):
            output, last = cell(x[:, t], last)
            unrolled.append(output)
        expected = ops.stack(unrolled, 1)
        xs = [x, *cell.variables]
        weights = np.random.default_rng(1).normal(size=(BATCH, TIME, UNITS))
        loops = gradients(outputs, xs, ops.identity_n([weights])[0])
        slopes = gradients(expected, xs, ops.identity_n([weights])[0])
        session.run(ops.global_variables_initializer())
        a, b = session.run([[outputs, state, loops], [expected, last, slopes]], {x: X})
        for value, wanted in zip(_flat(a), _flat(b), strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-12)


def _flat(structure: Any) -> list[Any]:
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in _flat(part)]
    return [structure]


def test_sequences_of_several_lengths() -> None:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        cell = cells.BasicRNNCell(UNITS)
        x = placeholder("float64", [BATCH, TIME, FEATURES])
        outputs, state = dynamic_rnn(cell, x, sequence_length=[2, 4])
        full, _ = dynamic_rnn(cell, x)
        (grad,) = gradients(outputs, x)
        session.run(ops.global_variables_initializer())
        got, last, all_of_it, slope = session.run([outputs, state, full, grad], {x: X})
        np.testing.assert_array_equal(got[0, 2:], 0)
        np.testing.assert_array_equal(got[0, :2], all_of_it[0, :2])
        np.testing.assert_array_equal(got[1], all_of_it[1])
        np.testing.assert_array_equal(last, [all_of_it[0, 1], all_of_it[1, 3]])
        assert (slope[0, 2:] == 0).all() and (slope[0, :2] != 0).all()


def test_training_a_cell() -> None:
    """Gradients reach the variables: a sum over time is learnt."""
    with Graph().as_default() as graph, Session(graph=graph) as session:
        x = placeholder("float32", [8, 5, 1])
        outputs, _ = dynamic_rnn(cells.GRUCell(8), x)
        head = ops.get_variable("head", [8, 1])
        loss = ops.reduce_mean(
            ops.square(ops.matmul(outputs[:, -1], head) - ops.reduce_sum(x, axis=1))
        )
        variables = ops.trainable_variables()
        steps = [
            v.assign_sub(0.1 * g)
            for v, g in zip(variables, gradients(loss, variables), strict=True)
        ]
        session.run(ops.global_variables_initializer())
        data = GENERATOR.uniform(-0.5, 0.5, (8, 5, 1)).astype(np.float32)
        before = session.run(loss, {x: data})
        for _ in range(300):
            session.run(steps, {x: data})
        assert session.run(loss, {x: data}) < 0.2 * before


def test_what_is_refused() -> None:
    with Graph().as_default():
        with pytest.raises(ShapeError, match="inputs: expected rank 3, got <.*Placeholder"):
            dynamic_rnn(cells.GRUCell(3), placeholder("float32", [2, 3]))
        with pytest.raises(ShapeError, match="sequence_length: expected rank 1, got"):
            dynamic_rnn(cells.GRUCell(3), placeholder("float32", [2, 3, 4]), [[1, 2]])
        for units in ("3", 2.5, True, 0):
            with pytest.raises(TypeError, match="lstm_cell. num_units: expected an int of 1 or"):
                cells.LSTMCell(units)  # type: ignore[arg-type]
        with pytest.raises(ShapeError, match="known number of features"):
            dynamic_rnn(cells.GRUCell(3), placeholder("float32", [2, 3, None]))
        with pytest.raises(TypeError, match="RNNCell"):
            dynamic_rnn(lambda x, s: (x, s), placeholder("float32", [2, 3, 4]))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="one cell or more"):
            cells.MultiRNNCell([])
