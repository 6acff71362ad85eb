"""A recurrent network over characters."""

from collections.abc import Callable
from typing import Any

import qanat as qn

# What a dropout layer does: (activations, the layer's number) -> activations.
Drop = Callable[[qn.Tensor, int], qn.Tensor]

CELLS = {
    "gru": qn.nn.rnn_cell.GRUCell,
    "lstm": qn.nn.rnn_cell.LSTMCell,
    "rnn": qn.nn.rnn_cell.BasicRNNCell,
}


class RecurrentNetwork:
    """Characters to logits: an embedding, recurrent layers one above the other, a linear layer.

    Each call adds to the default graph and uses the same variables. A layer's states are those of
    its cell; the network's are a list of them.

    Args:
        classes: how many characters there are.
        embedding: numbers a character.
        cell: of CELLS.
        layers: how many, one or more.
        units: of each.
    """

    def __init__(self, classes: int, embedding: int, cell: str, layers: int, units: int) -> None:
        self.classes = classes
        self._table = qn.get_variable("embedding", [classes, embedding])
        self._cells = [CELLS[cell](units) for _ in range(layers)]

    def zero_states(self, rows: int) -> list[Any]:
        """The states before a text begins."""
        return [cell.zero_state(rows, qn.float32) for cell in self._cells]

    def __call__(
        self, characters: qn.Tensor, states: list[Any], drop: Drop | None = None
    ) -> tuple[qn.Tensor, list[Any]]:
        """Reads characters side by side.

        Args:
            characters: integers [time, rows].
            states: to begin with.
            drop: applied to what goes into and comes out of each layer, never to what a layer tells
                itself. Source: Zaremba et al., "Recurrent Neural Network Regularization" (2014).

        Returns:
            (logits [time, rows, classes], the states at the end)
        """
        x = qn.gather(self._table, characters)
        last = []
        for i, (cell, state) in enumerate(zip(self._cells, states, strict=True)):
            x = drop(x, i) if drop else x
            x, state = qn.nn.dynamic_rnn(
                cell, x, initial_state=state, time_major=True, scope=f"layer_{i}"
            )
            last.append(state)
        return self._logits(drop(x, len(last)) if drop else x), last

    def step(self, characters: qn.Tensor, states: list[Any]) -> tuple[qn.Tensor, list[Any]]:
        """Reads one character a row, [rows]; gives logits [rows, classes], and the new states."""
        x = qn.gather(self._table, characters)
        new = []
        for i, (cell, state) in enumerate(zip(self._cells, states, strict=True)):
            with qn.variable_scope(f"layer_{i}"):
                x, state = cell(x, state)
            new.append(state)
        return self._logits(x), new

    def _logits(self, x: qn.Tensor) -> qn.Tensor:
        return qn.layers.dense(x, self.classes, name="logits", reuse=qn.AUTO_REUSE)
