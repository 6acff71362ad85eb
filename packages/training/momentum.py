"""Gradient descent with momentum."""

from qanat.core.base_ops import group
from qanat.core.graph import Operation, Output
from qanat.ops.variables import Variable
from qanat.training.optimizer import Optimizer, as_hyperparameter


class MomentumOptimizer(Optimizer):
    """accumulation = momentum * accumulation + gradient; variable -= learning_rate * accumulation.

    The accumulation of a variable is its slot "momentum", named `<variable>/<name of the
    optimizer>`. With Nesterov's momentum: variable -= learning_rate * (gradient + momentum *
    accumulation), so that the variable always is where the gradient was looked ahead to (Sutskever
    et al., "On the importance of initialization and momentum in deep learning", 2013, section 2).

    Args:
        learning_rate: a number, a scalar Output or a Variable.
        momentum: a number, a scalar Output or a Variable, in [0, 1).
        use_nesterov: whether to look ahead.
    """

    def __init__(
        self,
        learning_rate: float | Output | Variable,
        momentum: float | Output | Variable,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, variable: Variable) -> None:
        self._zeros_slot(variable, "momentum", self._name)

    def _apply(self, grad: Output, variable: Variable) -> Operation:
        rate = as_hyperparameter(self._learning_rate, grad)
        momentum = as_hyperparameter(self._momentum, grad)
        slot = self._zeros_slot(variable, "momentum", self._name)
        accumulation = momentum * slot.value() + grad
        step = grad + momentum * accumulation if self._use_nesterov else accumulation
        return group(
            slot.assign(accumulation, read_value=False),
            variable.assign_sub(rate * step, read_value=False),
        )
