"""What is done with a network over characters: training, evaluation and sampling."""

from collections.abc import Callable
from typing import Any

import qanat as qn
from qanat.control_flow import nest
from qanat.models.recurrent import Drop, RecurrentNetwork


class Training:
    """A step of truncated backpropagation through time: gradients pass through one window, the
    states are carried over to the next.

    What is carried is kept in variables, so that a checkpoint has it, too. Source: Mikolov et al.,
    "Recurrent neural network based language model" (2010); bounds for gradients: Pascanu et al.,
    "On the difficulty of training recurrent neural networks" (2013).

    Args:
        network: adds to the default graph, as all of this does.
        length, rows: of a window.
        optimizer: given the learning rate, a scalar.
        learning_rate: given the global step.
        clip_norm: the largest norm of all gradients together; 0 for any.
        dropout: the share of activations that is dropped in a step.
        seed: of what is dropped.

    Attributes:
        inputs, targets: to be fed: int32 [length, rows].
        loss: mean cross-entropy in nats, a float32 scalar.
        global_step: counts the steps of training.
        train: one step.
        begin: forgets what was carried, as before the text begins.
        step_summary: loss, norm of the gradients and learning rate of a step.
        weights_summary: histograms of the trainable variables.
    """

    def __init__(
        self,
        network: RecurrentNetwork,
        length: int,
        rows: int,
        *,
        optimizer: Callable[[qn.Tensor], "qn.train.Optimizer"],
        learning_rate: Callable[[qn.Variable], qn.Tensor],
        clip_norm: float,
        dropout: float,
        seed: int,
    ) -> None:
        self.inputs = qn.placeholder(qn.int32, [length, rows], name="inputs")
        self.targets = qn.placeholder(qn.int32, [length, rows], name="targets")
        self.global_step = qn.train.create_global_step()
        zeros = network.zero_states(rows)
        carried = [
            qn.Variable(zero, trainable=False, name=f"carried_{i}")
            for i, zero in enumerate(nest.flatten(zeros))
        ]
        drop = _dropping(dropout, seed, self.global_step, len(zeros) + 1) if dropout else None
        logits, last = network(self.inputs, nest.pack(zeros, carried), drop)
        self.loss = qn.losses.sparse_softmax_cross_entropy(self.targets, logits)
        rate = learning_rate(self.global_step)
        train, norm = _descend(optimizer(rate), self.loss, clip_norm, self.global_step)
        carry = [
            variable.assign(value, read_value=False)
            for variable, value in zip(carried, nest.flatten(last), strict=True)
        ]
        self.train = qn.group(train, *carry)
        self.begin = qn.variables_initializer(carried, name="begin")
        self.step_summary = qn.summary.merge(
            [
                qn.summary.scalar("train/loss", self.loss),
                qn.summary.scalar("train/gradient_norm", norm),
                qn.summary.scalar("train/learning_rate", rate),
            ]
        )
        self.weights_summary = qn.summary.merge(
            [
                qn.summary.histogram(f"weights/{variable.op.name}", variable)
                for variable in qn.trainable_variables()
            ]
        )


def _dropping(rate: float, seed: int, step: qn.Variable, places: int) -> Drop:
    """What is dropped depends on (seed, step, place) only, so a run can be taken up anywhere."""

    def drop(x: qn.Tensor, place: int) -> qn.Tensor:
        key = qn.stack([qn.constant(seed, qn.int64), step * places + place])
        keep = qn.random.stateless_uniform(x.shape, key) >= rate
        return qn.where(keep, x * (1 / (1 - rate)), qn.zeros_like(x))

    return drop


def _descend(
    optimizer: "qn.train.Optimizer", loss: qn.Tensor, clip_norm: float, step: qn.Variable
) -> tuple[qn.Operation, qn.Tensor]:
    """(one step, the norm of the gradients before they are bounded)."""
    pairs = optimizer.compute_gradients(loss)
    grads = [grad for grad, _ in pairs]
    norm = qn.global_norm(grads)
    if clip_norm:
        grads, _ = qn.clip_by_global_norm(grads, clip_norm, norm)
    variables = [variable for _, variable in pairs]
    return optimizer.apply_gradients(zip(grads, variables, strict=True), step), norm


class Evaluation:
    """The loss of a text that is read window by window.

    Args:
        network: adds to the default graph, as all of this does.
        rows: of a window.

    Attributes:
        inputs, targets: to be fed: int32 [time, rows].
        before: the states before the window, to be fed, a list of tensors.
        after: the states after it, in the same order.
        nats: the cross-entropy of all its characters together, a float32 scalar.
    """

    def __init__(self, network: RecurrentNetwork, rows: int) -> None:
        self.inputs = qn.placeholder(qn.int32, [None, rows], name="inputs")
        self.targets = qn.placeholder(qn.int32, [None, rows], name="targets")
        zeros = network.zero_states(rows)
        self.before = [
            qn.placeholder(zero.dtype, zero.shape, name="state") for zero in nest.flatten(zeros)
        ]
        logits, last = network(self.inputs, nest.pack(zeros, self.before))
        self.after: list[qn.Tensor] = nest.flatten(last)
        self.nats = qn.reduce_sum(
            qn.nn.sparse_softmax_cross_entropy_with_logits(labels=self.targets, logits=logits)
        )


class Sampler:
    """Writes on, a character at a time, in the graph.

    Args:
        network: adds to the default graph, as all of this does.
        length: how many characters.
        temperature: logits are divided by it; where it is 0 the likeliest character is taken.

    Attributes:
        prompt: what to write on from, to be fed: int32 [n], n > 0.
        characters: what is written, int32 [length].
    """

    def __init__(self, network: RecurrentNetwork, length: int, temperature: float) -> None:
        self.prompt = qn.placeholder(qn.int32, [None], name="prompt")
        logits, states = network(qn.expand_dims(self.prompt, 1), network.zero_states(1))
        written = qn.TensorArray(qn.int32, length, element_shape=[])

        def body(i: Any, logits: Any, states: Any, written: Any) -> Any:
            drawn = _drawn(logits, temperature)
            return i + 1, *network.step(drawn, states), written.write(i, drawn[0])

        *_, written = qn.while_loop(
            lambda i, *_: i < length, body, (0, logits[-1], states, written), back_prop=False
        )
        self.characters = written.stack()


def _drawn(logits: qn.Tensor, temperature: float) -> qn.Tensor:
    """A character for each row of logits."""
    if temperature == 0:
        return qn.argmax(logits, 1, output_type=qn.int32)
    likely = logits - qn.reduce_max(logits, 1, keepdims=True)
    return qn.multinomial(likely / temperature, 1, output_dtype=qn.int32)[:, 0]
