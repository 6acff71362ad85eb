"""Gradient descent."""

from qanat.core.graph import Operation, Output
from qanat.ops.variables import Variable
from qanat.training.optimizer import Optimizer, as_hyperparameter


class GradientDescentOptimizer(Optimizer):
    """variable -= learning_rate * gradient.

    Args:
        learning_rate: a number, a scalar Output, such as a schedule of the global step, or a
            Variable.
    """

    def __init__(
        self, learning_rate: float | Output | Variable, name: str = "GradientDescent"
    ) -> None:
        super().__init__(name)
        self._learning_rate = learning_rate

    def _apply(self, grad: Output, variable: Variable) -> Operation:
        rate = as_hyperparameter(self._learning_rate, grad)
        return variable.assign_sub(rate * grad, read_value=False)
