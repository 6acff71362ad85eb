"""Recurrent cells: what one time step of a recurrent network computes. `qn.nn.rnn_cell`.

A cell is called with (inputs, state) and gives (output, new state). Its variables are made with its
first call, in the variable scope around it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from qanat.control_flow import nest
from qanat.core.constants import describe
from qanat.core.errors import ShapeError
from qanat.core.graph import Output, convert_to_tensor
from qanat.ops import concat, initializers, joining, matmul, sigmoid, tanh, zeros
from qanat.ops.activations import bias_add
from qanat.ops.variable_scope import get_variable, variable_scope
from qanat.ops.variables import Variable

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
]

Activation = Callable[[Output], Output]


class LSTMStateTuple(NamedTuple):
    """The state of an LSTM.

    Attributes:
        c: what it remembers.
        h: what it has given out last.
    """

    c: Any
    h: Any


class RNNCell:
    """What all cells have in common.

    Attributes:
        state_size: a number of units, or a structure of them: what the state looks like.
        output_size: the size of the output's last dimension.
    """

    state_size: Any
    output_size: int

    def __init__(self, scope: str, reuse: Any = None) -> None:
        self._scope = scope
        self._reuse = reuse
        self._weights: dict[str, Variable] | None = None

    def __call__(self, inputs: Any, state: Any, scope: str | None = None) -> tuple[Output, Any]:
        """One time step.

        Args:
            inputs: floating-point [batch, features], features known.
            state: [batch, units], in the structure of state_size.

        Returns:
            (output [batch, output_size], the new state)

        Raises:
            ShapeError: the number of features is not known.
        """
        x = convert_to_tensor(inputs)
        features = x.shape.with_rank(2)[1]
        if features is None:
            raise ShapeError(
                f"[{type(self).__name__}] expected a known number of features, got {x!r}"
            )
        if self._weights is None:
            with variable_scope(scope or self._scope, reuse=self._reuse):
                self._weights = self.build(features, x.dtype)
        return self.step(x, state, self._weights)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """A state of zeros."""
        return nest.map_structure(lambda units: zeros([batch_size, units], dtype), self.state_size)

    @property
    def variables(self) -> list[Variable]:
        """Those made so far."""
        return list((self._weights or {}).values())

    def build(self, features: int, dtype: Any) -> dict[str, Variable]:
        """Makes the variables."""
        raise NotImplementedError

    def step(self, x: Output, state: Any, weights: dict[str, Variable]) -> tuple[Output, Any]:
        """Computes (output, new state)."""
        raise NotImplementedError


def _linear(inputs: int, outputs: int, dtype: Any, bias: float = 0.0) -> dict[str, Variable]:
    return {
        "kernel": get_variable("kernel", [inputs, outputs], dtype),
        "bias": get_variable(
            "bias", [outputs], dtype, initializer=initializers.constant_initializer(bias)
        ),
    }


def _times(parts: Sequence[Any], weights: dict[str, Variable], prefix: str = "") -> Output:
    joined = concat(list(parts), 1)
    product = matmul(joined, weights[prefix + "kernel"])
    biased: Output = bias_add(product, weights[prefix + "bias"])
    return biased


def _units(num_units: Any, name: str) -> int:
    if isinstance(num_units, bool) or not isinstance(num_units, (int, np.integer)) or num_units < 1:
        raise TypeError(
            f"[{name}] num_units: expected an int of 1 or more, got {describe(num_units)}"
        )
    return int(num_units)


class BasicRNNCell(RNNCell):
    """output = new state = activation([inputs, state] @ kernel + bias)."""

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str = "basic_rnn_cell",
    ) -> None:
        super().__init__(name, reuse)
        self.state_size = self.output_size = _units(num_units, name)
        self._activation = activation or tanh

    def build(self, features: int, dtype: Any) -> dict[str, Variable]:
        return _linear(features + self.output_size, self.output_size, dtype)

    def step(self, x: Output, state: Any, weights: dict[str, Variable]) -> tuple[Output, Any]:
        output = self._activation(_times([x, state], weights))
        return output, output


class LSTMCell(RNNCell):
    """Long short-term memory, without peepholes.

        i, j, f, o = split([inputs, h] @ kernel + bias)
        c' = c * sigmoid(f + forget_bias) + sigmoid(i) * activation(j)
        h' = activation(c') * sigmoid(o)

    The output is h'. Source: Zaremba et al., "Recurrent Neural Network Regularization" (2014),
    section 3.1; the forget bias: Jozefowicz et al. (2015).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str = "lstm_cell",
    ) -> None:
        """
        Args:
            num_units: of the state and the output.
            forget_bias: added to the forget gate, so that it is open at first.
            activation: tanh if not given.
            reuse, name: of the variable scope.
        """
        super().__init__(name, reuse)
        self.output_size = _units(num_units, name)
        self.state_size = LSTMStateTuple(num_units, num_units)
        self._forget_bias = forget_bias
        self._activation = activation or tanh

    def build(self, features: int, dtype: Any) -> dict[str, Variable]:
        return _linear(features + self.output_size, 4 * self.output_size, dtype)

    def step(self, x: Output, state: Any, weights: dict[str, Variable]) -> tuple[Output, Any]:
        c, h = state
        i, j, f, o = joining.split(_times([x, h], weights), 4, axis=1)
        kept = c * sigmoid(f + self._forget_bias)
        new_c = kept + sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class BasicLSTMCell(LSTMCell):
    """`LSTMCell` under its first name."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str = "basic_lstm_cell",
    ) -> None:
        super().__init__(num_units, forget_bias, activation, reuse, name)


class GRUCell(RNNCell):
    """The gated recurrent unit.

        r, u = sigmoid(split([inputs, h] @ gates + 1))
        h' = u * h + (1 - u) * activation([inputs, r * h] @ candidate)

    Source: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (2014).
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation | None = None,
        reuse: Any = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(name, reuse)
        self.state_size = self.output_size = _units(num_units, name)
        self._activation = activation or tanh

    def build(self, features: int, dtype: Any) -> dict[str, Variable]:
        units = self.output_size
        with variable_scope("gates"):
            gates = _linear(features + units, 2 * units, dtype, bias=1.0)
        with variable_scope("candidate"):
            candidate = _linear(features + units, units, dtype)
        return {
            **{f"gates/{name}": variable for name, variable in gates.items()},
            **{f"candidate/{name}": variable for name, variable in candidate.items()},
        }

    def step(self, x: Output, state: Any, weights: dict[str, Variable]) -> tuple[Output, Any]:
        r, u = joining.split(sigmoid(_times([x, state], weights, "gates/")), 2, axis=1)
        candidate = self._activation(_times([x, r * state], weights, "candidate/"))
        new = u * state + (1.0 - u) * candidate
        return new, new


class MultiRNNCell(RNNCell):
    """Cells one above the other: each gets the output of the one below; the state is a tuple."""

    def __init__(self, cells: Sequence[RNNCell], name: str = "multi_rnn_cell") -> None:
        """
        Raises:
            ValueError: there are no cells.
        """
        super().__init__(name)
        if not cells:
            raise ValueError("[MultiRNNCell] expected one cell or more, got none")
        self._cells = list(cells)
        self.state_size = tuple(cell.state_size for cell in self._cells)
        self.output_size = self._cells[-1].output_size

    def __call__(self, inputs: Any, state: Any, scope: str | None = None) -> tuple[Output, Any]:
        output = convert_to_tensor(inputs)
        states = []
        with variable_scope(scope or self._scope):
            for i, (cell, old) in enumerate(zip(self._cells, state, strict=True)):
                with variable_scope(f"cell_{i}"):
                    output, new = cell(output, old)
                states.append(new)
        return output, tuple(states)

    @property
    def variables(self) -> list[Variable]:
        return [variable for cell in self._cells for variable in cell.variables]
