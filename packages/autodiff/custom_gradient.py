"""Gradients specialised by the user: for numerical stability, clipping, or estimators such as
straight-through.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from qanat.core.constants import describe
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
        Variables that f reads get no gradient through it: pass them as arguments. It raises a
        TypeError where f returns anything but such a pair.
    """

    @wraps(f)
    def decorated(*args: Any) -> Output | list[Output]:
        inputs = [convert_to_tensor(arg) for arg in args]
        results, backward = _pair(f, f(*inputs))
        single = not isinstance(results, list | tuple)
        values = [results] if single else list(results)

        def gradient(op: Operation, *grads: Output | None) -> list[Output | None]:
            found = backward(*grads[: len(values)])
            by_argument = [found] if found is None or isinstance(found, Output) else list(found)
            if len(by_argument) != len(inputs):
                raise ValueError(
                    f"{_name(f)} expected {len(inputs)} gradients from its backward function, "
                    f"one an argument, got {len(by_argument)}"
                )
            return [None] * len(values) + by_argument

        # One operation that has both the results and the arguments as inputs: there the path of
        # gradients leaves what f built.
        outputs = identity_n(values + inputs)
        outputs[0].op.gradient_override = gradient
        return outputs[0] if single else outputs[: len(values)]

    return decorated


def _pair(f: ForwardFunction, returned: Any) -> Any:
    """What f returned, checked: an Output alone would otherwise be taken apart along its rows."""
    listed = isinstance(returned, tuple | list)
    if listed and len(returned) == 2 and callable(returned[1]):
        return returned
    got = [type(part).__name__ for part in returned] if listed else describe(returned)
    raise TypeError(
        f"[custom_gradient] expected {_name(f)} to return (result or results, function of the "
        f"results' gradients), got {got}"
    )


def _name(f: ForwardFunction) -> str:
    return getattr(f, "__name__", None) or repr(f)
