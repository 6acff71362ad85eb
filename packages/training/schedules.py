"""Learning rates that change with the step. All are scalars, float32 unless the rate given is an
Output.
"""

import math
from collections.abc import Sequence

from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.ops import cast, cos, floor, minimum, pow, where
from qanat.ops.variables import Variable

Step = Variable | Output | int
Number = Output | float


def exponential_decay(
    learning_rate: Number,
    global_step: Step,
    decay_steps: Number,
    decay_rate: Number,
    staircase: bool = False,
    name: str | None = None,
) -> Output:
    """learning_rate * decay_rate ^ (global_step / decay_steps), the quotient rounded down if
    staircase.
    """
    with name_scope(name, "exponential_decay"):
        rate, progress = _rate_and_progress(learning_rate, global_step, decay_steps)
        return rate * pow(_like(rate, decay_rate), floor(progress) if staircase else progress)


def inverse_time_decay(
    learning_rate: Number,
    global_step: Step,
    decay_steps: Number,
    decay_rate: Number,
    staircase: bool = False,
    name: str | None = None,
) -> Output:
    """learning_rate / (1 + decay_rate * global_step / decay_steps), the quotient rounded down if
    staircase.
    """
    with name_scope(name, "inverse_time_decay"):
        rate, progress = _rate_and_progress(learning_rate, global_step, decay_steps)
        return rate / (1 + _like(rate, decay_rate) * (floor(progress) if staircase else progress))


def polynomial_decay(
    learning_rate: Number,
    global_step: Step,
    decay_steps: Number,
    end_learning_rate: Number = 0.0001,
    power: Number = 1.0,
    name: str | None = None,
) -> Output:
    """From learning_rate down to end_learning_rate in decay_steps, as (1 - progress) ^ power; then
    constant.
    """
    with name_scope(name, "polynomial_decay"):
        rate, progress = _rate_and_progress(learning_rate, global_step, decay_steps)
        end = _like(rate, end_learning_rate)
        return (rate - end) * pow(1 - minimum(progress, 1.0), _like(rate, power)) + end


def cosine_decay(
    learning_rate: Number,
    global_step: Step,
    decay_steps: Number,
    alpha: Number = 0.0,
    name: str | None = None,
) -> Output:
    """From learning_rate down to alpha * learning_rate in decay_steps along half a cosine; then
    constant.

    Source: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2017),
    equation 5.
    """
    with name_scope(name, "cosine_decay"):
        rate, progress = _rate_and_progress(learning_rate, global_step, decay_steps)
        wave = 0.5 * (1 + cos(math.pi * minimum(progress, 1.0)))
        least = _like(rate, alpha)
        return rate * ((1 - least) * wave + least)


def piecewise_constant(
    x: Step, boundaries: Sequence[float], values: Sequence[float], name: str | None = None
) -> Output:
    """values[0] for x <= boundaries[0], values[i] for x in (boundaries[i - 1], boundaries[i]], else
    the last.

    Args:
        x: a scalar, usually the global step.
        boundaries: strictly increasing numbers.
        values: one more than boundaries.

    Returns:
        float32, a scalar.

    Raises:
        ValueError: the numbers of boundaries and values do not fit, or boundaries do not increase.
    """
    if len(values) != len(boundaries) + 1:
        raise ValueError(
            f"[piecewise_constant] expected one value more than the {len(boundaries)} boundaries, "
            f"got {len(values)}"
        )
    if any(a >= b for a, b in zip(boundaries, boundaries[1:], strict=False)):
        raise ValueError(
            f"[piecewise_constant] expected increasing boundaries, got {list(boundaries)}"
        )
    with name_scope(name, "piecewise_constant"):
        position = convert_to_tensor(x)
        result = convert_to_tensor(float(values[-1]))
        for boundary, value in reversed(list(zip(boundaries, values, strict=False))):
            at_most = position <= convert_to_tensor(boundary, dtype=position.dtype)
            result = where(at_most, convert_to_tensor(float(value)), result)
        return result


def _rate_and_progress(
    learning_rate: Number, global_step: Step, decay_steps: Number
) -> tuple[Output, Output]:
    """The initial rate, and global_step / decay_steps in its dtype."""
    rate = convert_to_tensor(learning_rate)
    return rate, _like(rate, global_step) / _like(rate, decay_steps)


def _like(rate: Output, value: Variable | Number) -> Output:
    return cast(value, rate.dtype)
