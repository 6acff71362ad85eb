"""Bounds for gradients, so that one bad batch does not throw a model off."""

from collections.abc import Sequence
from typing import Any

from qanat.core.graph import Output, colocate_with, convert_to_tensor, name_scope
from qanat.ops import add_n, maximum, reduce_sum, sqrt, square


def clip_by_norm(
    t: Any,
    clip_norm: Any,
    axes: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Output:
    """`t` scaled down to an L2 norm of at most clip_norm, unchanged where it is less.

    Args:
        t: floating-point, of any shape.
        clip_norm: a positive scalar.
        axes: the norm is that of all elements, or along these axes.
    """
    with name_scope(name, "clip_by_norm"):
        t = convert_to_tensor(t)
        norm = sqrt(reduce_sum(square(t), axes, keepdims=True))
        return t * (clip_norm / maximum(norm, clip_norm))


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Output:
    """The L2 norm of all elements of all outputs together, a scalar; None entries count as nothing.

    Raises:
        ValueError: there is no output in the list.
    """
    outputs = [t for t in t_list if t is not None]
    if not outputs:
        raise ValueError("[global_norm] expected at least one output, got none")
    with name_scope(name, "global_norm"):
        squares = []
        for t in outputs:
            with colocate_with(t.op):
                squares.append(reduce_sum(square(t)))
        return sqrt(add_n(squares))


def clip_by_global_norm(
    t_list: Sequence[Any],
    clip_norm: Any,
    use_norm: Any = None,
    name: str | None = None,
) -> tuple[list[Any], Output]:
    """All outputs scaled by one factor, so that their global norm is at most clip_norm.

    Source: Pascanu et al., "On the difficulty of training recurrent neural networks" (2013),
    section 3.2. If the norm is infinite or NaN, every element of the result is NaN: a lost step is
    seen.

    Args:
        t_list: floating-point, all of one dtype; None entries stay None.
        clip_norm: a positive scalar.
        use_norm: the global norm, if it is known already.

    Returns:
        (the scaled outputs, their global norm before)
    """
    with name_scope(name, "clip_by_global_norm"):
        norm = global_norm(t_list) if use_norm is None else use_norm
        # inf - inf and NaN - NaN are NaN, every other difference is 0.
        scale = clip_norm / maximum(norm, clip_norm) + (norm - norm)
        clipped: list[Any] = []
        for t in t_list:
            if t is None:
                clipped.append(None)
            else:
                with colocate_with(t.op):
                    clipped.append(t * scale)
        return clipped, norm
