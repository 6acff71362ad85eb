"""How well a model foresees a text."""

import math
from dataclasses import dataclass

import numpy as np

import qanat as qn
from qanat.models.language_model import Evaluation
from qanat.models.text import Rows


@dataclass(frozen=True)
class Foresight:
    """
    Attributes:
        nats: the mean cross-entropy of a character, in nats.
    """

    nats: float

    @property
    def perplexity(self) -> float:
        """Among how many equally likely characters the model would be as unsure."""
        return math.exp(self.nats) if self.nats < 700 else math.inf

    @property
    def bits(self) -> float:
        """The mean cross-entropy of a character, in bits."""
        return self.nats / math.log(2)

    def __str__(self) -> str:
        return f"perplexity {self.perplexity:.3f} ({self.bits:.3f} bits a character)"


def evaluate(session: qn.Session, evaluation: Evaluation, rows: Rows) -> Foresight:
    """Of all characters of a text; states are carried from window to window."""
    run = session.prepare(
        [evaluation.nats, *evaluation.after],
        [evaluation.inputs, evaluation.targets, *evaluation.before],
    )
    states = [np.zeros(state.shape.as_list(), np.float32) for state in evaluation.before]
    total = 0.0
    for inputs, targets in rows.windows():
        nats, *states = run(inputs, targets, *states)
        total += float(nats)
    return Foresight(total / rows.inputs.size)
