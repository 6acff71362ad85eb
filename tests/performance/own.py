"""Qanat's ways to do the work."""

import os
from collections.abc import Callable
from typing import Any

from tests.performance.inputs import (
    CHARACTERS,
    CLASSES,
    EMBEDDING,
    LEARNING_RATE,
    MOMENTUM,
    TIME,
    UNITS,
    batch,
    window,
)
from tests.performance.interleaved import Work


def lenet(size: int) -> Work:
    from qanat.models.lenet import lenet as model

    return _training_step(size, model)


def mlp(size: int) -> Work:
    from qanat.models.mlp import mlp as model

    return _training_step(size, model)


def _training_step(size: int, model: Callable[[Any, int], Any]) -> Work:
    import qanat as qn

    images, labels = batch(size)
    fed_images = qn.placeholder(qn.float32, images.shape)
    fed_labels = qn.placeholder(qn.int32, labels.shape)
    loss = qn.losses.sparse_softmax_cross_entropy(fed_labels, model(fed_images, CLASSES))
    return _trained(loss, [fed_images, fed_labels], (images, labels))


def _trained(loss: Any, feeds: list[Any], fed: tuple[Any, Any]) -> Work:
    import qanat as qn

    train = qn.train.MomentumOptimizer(LEARNING_RATE, MOMENTUM).minimize(loss)
    session = _session()
    session.run(qn.global_variables_initializer())
    run = session.prepare([loss, train], feeds)
    return lambda: run(*fed)


def char_lm(rows: int) -> Work:
    import qanat as qn
    from qanat.models.recurrent import RecurrentNetwork

    fed_inputs = qn.placeholder(qn.int32, [TIME, rows])
    fed_targets = qn.placeholder(qn.int32, [TIME, rows])
    network = RecurrentNetwork(CHARACTERS, EMBEDDING, "lstm", 1, UNITS)
    logits, _ = network(fed_inputs, network.zero_states(rows))
    loss = qn.losses.sparse_softmax_cross_entropy(fed_targets, logits)
    return _trained(loss, [fed_inputs, fed_targets], window(rows))


def tiny_run() -> Work:
    session, total, fed = _tiny()
    return lambda: session.run(total, {fed: 1.0})


def tiny_callable() -> Work:
    session, total, fed = _tiny()
    run = session.prepare(total, [fed])
    return lambda: run(1.0)


def _tiny() -> tuple[Any, Any, Any]:
    import qanat as qn

    fed = qn.placeholder(qn.float32, [])
    return _session(), fed + 1.0, fed


def add_chain(length: int, optimise: bool) -> Work:
    """Optimised, the additions are joined into few kernels."""
    import qanat as qn

    fed = x = qn.placeholder(qn.float32, [])
    for _ in range(length):
        x = qn.add(x, fed)
    run = _session(optimise).prepare(x, [fed])
    return lambda: run(1.0)


def counting_loop(iterations: int) -> Work:
    import qanat as qn

    fed = qn.placeholder(qn.float32, [])
    _, total = qn.while_loop(
        lambda i, total: i < iterations, lambda i, total: (i + 1, total + fed), [0, 0.0]
    )
    run = _session().prepare(total, [fed])
    return lambda: run(1.0)


def construction(layers: int) -> Work:
    import qanat as qn

    def build() -> None:
        with qn.Graph().as_default():
            x = qn.placeholder(qn.float32, [None, 64])
            kernels = [qn.get_variable(f"w{i}", [64, 64]) for i in range(layers)]
            for kernel in kernels:
                x = qn.nn.relu(qn.matmul(x, kernel) + 1.0)
            qn.gradients(qn.reduce_sum(x), kernels)

    return build


def save(mebibytes: int) -> Work:
    from tests.performance.checkpoint_files import folder, timed

    session, saver = _saver(mebibytes)
    prefix = folder() / "model"
    return timed(lambda: saver.save(session, prefix))


def restore(mebibytes: int) -> Work:
    from tests.performance.checkpoint_files import folder, timed_cold

    session, saver = _saver(mebibytes)
    files = folder()
    path = saver.save(session, files / "model")
    return timed_cold(files, "model.*", lambda: saver.restore(session, path))


def _saver(mebibytes: int) -> tuple[Any, Any]:
    import qanat as qn
    from tests.performance.checkpoint_files import tensors

    values = tensors(mebibytes)
    variables = [qn.Variable(qn.zeros(value.shape)) for value in values]
    session = _session()
    for variable, value in zip(variables, values, strict=True):
        variable.load(value, session)
    return session, qn.train.Saver()


def _session(optimise: bool = True) -> Any:
    import qanat as qn

    threads = len(os.sched_getaffinity(0))
    return qn.Session(config=qn.SessionConfig(threads=threads, optimise=optimise))
