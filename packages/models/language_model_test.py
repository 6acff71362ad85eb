"""What is done with a network over characters, beside doing it by hand."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import qanat as qn
from qanat.models.language_model import Evaluation, Sampler, Training, _dropping
from qanat.models.perplexity import Foresight, evaluate
from qanat.models.recurrent import CELLS, RecurrentNetwork
from qanat.models.text import Rows

CLASSES, UNITS = 7, 9
TEXT = np.random.default_rng(0).integers(0, CLASSES, 61).astype(np.int32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with qn.Graph().as_default():
        qn.set_random_seed(1)
        yield


def network(cell: str = "lstm", layers: int = 2) -> RecurrentNetwork:
    return RecurrentNetwork(CLASSES, 4, cell, layers, UNITS)


@pytest.mark.parametrize("cell", sorted(CELLS))
def test_evaluation_carries_states_over(cell: str) -> None:
    evaluation = Evaluation(network(cell), rows=3)
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        whole = evaluate(session, evaluation, Rows.of(TEXT, 3, 100))
        cut = evaluate(session, evaluation, Rows.of(TEXT, 3, 6))  # 20 = 3 * 6 + 2
    assert cut.nats == pytest.approx(whole.nats, rel=1e-5)
    assert abs(whole.perplexity - CLASSES) < 1


def test_a_model_that_knows_nothing() -> None:
    net = network()
    evaluation = Evaluation(net, rows=1)
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        session.run([v.assign(qn.zeros_like(v)) for v in qn.trainable_variables()])
        foresight = evaluate(session, evaluation, Rows.of(TEXT, 1, 8))
    assert foresight.perplexity == pytest.approx(CLASSES, rel=1e-6)
    assert str(foresight) == f"perplexity 7.000 ({math.log2(7):.3f} bits a character)"


def test_no_number_is_too_large_to_show() -> None:
    assert str(Foresight(1000.0)) == "perplexity inf (1442.695 bits a character)"


def training(net: RecurrentNetwork, clip_norm: float = 0.0, dropout: float = 0.0) -> Training:
    return Training(
        net,
        5,
        3,
        optimizer=qn.train.GradientDescentOptimizer,
        learning_rate=lambda step: qn.constant(0.5),
        clip_norm=clip_norm,
        dropout=dropout,
        seed=1,
    )


def test_training_carries_states_over() -> None:
    """With a rate of 0 in effect, the losses are those of the evaluation, and begin anew."""
    net = network()
    model = training(net, clip_norm=1e-30)
    evaluation = Evaluation(net, rows=3)
    rows = Rows.of(TEXT, 3, 5)
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        expected = evaluate(session, evaluation, rows).nats
        for _ in range(2):
            session.run(model.begin)
            losses = [
                session.run([model.loss, model.train], {model.inputs: a, model.targets: b})[0]
                for a, b in rows.windows()
            ]
            assert np.mean(losses) == pytest.approx(expected, rel=1e-5)
        assert session.run(model.global_step) == 8


@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_gradients_are_bounded(clip_norm: float) -> None:
    model = training(network(), clip_norm)
    variables = qn.trainable_variables()
    (a, b), *_ = Rows.of(TEXT, 3, 5).windows()
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        before = session.run(variables)
        session.run(model.train, {model.inputs: a, model.targets: b})
        moved = [new - old for new, old in zip(session.run(variables), before, strict=True)]
    norm = math.sqrt(sum(float(np.sum(np.square(m.astype(np.float64)))) for m in moved)) / 0.5
    assert norm == pytest.approx(clip_norm, rel=1e-2) if clip_norm else norm > 0.05


def test_what_is_dropped() -> None:
    step = qn.train.create_global_step()
    drop = _dropping(0.25, 3, step, 2)
    x = qn.ones([100, 100])
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        dropped = drop(x, 0), drop(x, 1)
        a, b = session.run(dropped)
        again, _ = session.run(dropped)
        session.run(step.assign_add(1))
        later, _ = session.run(dropped)
    np.testing.assert_allclose(np.unique(a), [0, 1 / 0.75], rtol=1e-6)
    assert abs((a == 0).mean() - 0.25) < 0.025
    np.testing.assert_array_equal(a, again)
    for other in (b, later):
        assert abs((a != other).mean() - 2 * 0.25 * 0.75) < 0.03


@pytest.mark.parametrize("cell", sorted(CELLS))
def test_the_likeliest_characters(cell: str) -> None:
    """The sampler's loop is the network read again from the start for each character."""
    net = network(cell)
    sampler = Sampler(net, 12, temperature=0)
    logits, _ = net(qn.expand_dims(sampler.prompt, 1), net.zero_states(1))
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        # Larger weights, that one character is not the likeliest everywhere.
        session.run([v.assign(3.0 * v) for v in qn.trainable_variables()])
        prompt = TEXT[:3]
        written = session.run(sampler.characters, {sampler.prompt: prompt})
        read = prompt
        for _ in range(12):
            last = session.run(logits, {sampler.prompt: read})[-1, 0]
            read = np.append(read, np.argmax(last).astype(np.int32))
    np.testing.assert_array_equal(written, read[3:])
    assert written.dtype == np.int32


@pytest.mark.parametrize("temperature", [1.0, 0.25, 1e-20])
def test_the_first_character_is_drawn_as_foreseen(temperature: float) -> None:
    net = network()
    sampler = Sampler(net, 1, temperature)
    logits, _ = net(qn.expand_dims(sampler.prompt, 1), net.zero_states(1))
    with qn.Session() as session:
        session.run(qn.global_variables_initializer())
        session.run([v.assign(3.0 * v) for v in qn.trainable_variables()])
        run = session.prepare([sampler.characters], [sampler.prompt])
        drawn = np.array([run(TEXT[:3])[0][0] for _ in range(800)])
        (seen,) = session.run(logits, {sampler.prompt: TEXT[:3]})[-1].astype(np.float64)
    chances: Any = np.exp((seen - seen.max()) / temperature)
    chances /= chances.sum()
    counts = np.bincount(drawn, minlength=CLASSES)
    assert np.all(abs(counts - 800 * chances) <= 5 * np.sqrt(800 * chances * (1 - chances)) + 1e-6)
