"""Adam: steps scaled by running estimates of the gradient's first two moments."""

import numpy as np

from qanat.core.base_ops import group
from qanat.core.graph import Graph, Operation, Output, colocate_with, get_default_graph
from qanat.ops import sqrt, square
from qanat.ops.variables import Variable
from qanat.training.optimizer import Optimizer, as_hyperparameter


class AdamOptimizer(Optimizer):
    """Kingma and Ba, "Adam: A Method for Stochastic Optimization" (2015), the form before section
    2.1:

        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient^2
        variable -= learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)

    for step t = 1, 2, ... The slots "m" and "v" are named `<variable>/<name of the optimizer>` and
    the same with `_1`; the powers beta1^t and beta2^t are variables.

    Args:
        learning_rate: a number, a scalar Output or a Variable.
        beta1: decay of m, in [0, 1).
        beta2: decay of v, in [0, 1).
        epsilon: added to the denominator ("epsilon hat" of the paper).
    """

    def __init__(
        self,
        learning_rate: float | Output | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        name: str = "Adam",
    ) -> None:
        super().__init__(name)
        self._learning_rate = learning_rate
        self._betas = (beta1, beta2)
        self._epsilon = epsilon
        self._powers: dict[Graph, tuple[Variable, Variable]] = {}
        self._rate: Output | None = None

    def variables(self) -> list[Variable]:
        return super().variables() + [power for pair in self._powers.values() for power in pair]

    def _create_slots(self, variable: Variable) -> None:
        self._zeros_slot(variable, "m", self._name)
        self._zeros_slot(variable, "v", self._name + "_1")
        if variable.graph not in self._powers:
            with colocate_with(variable.op):
                beta1, beta2 = (
                    Variable(np.float32(beta), trainable=False, name=f"beta{i}_power")
                    for i, beta in enumerate(self._betas, 1)
                )
            self._powers[variable.graph] = beta1, beta2

    def _prepare(self) -> None:
        beta1_power, beta2_power = self._powers[get_default_graph()]
        rate = as_hyperparameter(self._learning_rate, beta1_power.value())
        self._rate = rate * sqrt(1 - beta2_power.value()) / (1 - beta1_power.value())

    def _apply(self, grad: Output, variable: Variable) -> Operation:
        assert self._rate is not None
        beta1, beta2 = self._betas
        m_slot = self._zeros_slot(variable, "m", self._name)
        v_slot = self._zeros_slot(variable, "v", self._name + "_1")
        m = beta1 * m_slot.value() + (1 - beta1) * grad
        v = beta2 * v_slot.value() + (1 - beta2) * square(grad)
        step = as_hyperparameter(self._rate, grad) * m / (sqrt(v) + self._epsilon)
        return group(
            m_slot.assign(m, read_value=False),
            v_slot.assign(v, read_value=False),
            variable.assign_sub(step, read_value=False),
        )

    def _finish(self) -> list[Operation]:
        return [
            power.assign(power.value() * beta, read_value=False)
            for power, beta in zip(self._powers[get_default_graph()], self._betas, strict=True)
        ]
