"""Gradients specialised by the user: for numerical stability, clipping, or estimators such as
straight-through.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from qanat.core.graph import Operation, Output, convert_to_tensor
from qanat.ops import identity_n

# From one gradient an output to one gradient an argument (a single one may stand alone).
BackwardFunction = Callable[..., Output | None | Sequence[Output | None]]
ForwardFunction = Callable[..., tuple[Output | Sequence[Output], BackwardFunction]]


def custom_gradient(f: ForwardFunction) -> Callable[..., Any]:
    """Decorates a function that brings its own gradient along.

        @qn.custom_gradient
        def log1pexp(x):
            e = qn.exp(x)
            return qn.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    Args:
        f: takes outputs; returns (result or list of results, backward). `backward` takes one
            gradient a result, of its dtype and shape, or None where none arrives; it returns one
            gradient an argument, or None. It is called at each `gradients` that passes here, and
            what it builds can itself be differentiated.

    Returns:
        A function of the same arguments that returns f's result, or the list of its results.
        Variables that f reads get no gradient through it: pass them as arguments.
    """

    @wraps(f)
    def decorated(*args: Any) -> Output | list[Output]:
        inputs = [convert_to_tensor(arg) for arg in args]
        results, backward = f(*inputs)
        single = isinstance(results, Output)
        values = [results] if single else list(results)

        def gradient(op: Operation, *grads: Output | None) -> list[Output | None]:
            found = backward(*grads[: len(values)])
            by_argument = [found] if found is None or isinstance(found, Output) else list(found)
            if len(by_argument) != len(inputs):
                raise ValueError(
                    f"{f.__name__} expected {len(inputs)} gradients from its backward function, "
                    f"one an argument, got {len(by_argument)}"
                )
            return [None] * len(values) + by_argument

        # One operation that has both the results and the arguments as inputs: there the path of
        # gradients leaves what f built.
        outputs = identity_n(values + inputs)
        outputs[0].op.gradient_override = gradient
        return outputs[0] if single else outputs[: len(values)]

    return decorated
