"""Statistics over axes, and what is normalised by them. Compositions of other ops."""

from collections.abc import Sequence
from typing import Any

from qanat.core import dtypes
from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.ops import arithmetic, casting, elementwise, random, reductions, shaping

__all__ = ["batch_normalization", "dropout", "l2_normalize", "moments"]


def moments(
    x: Any,
    axes: int | Sequence[int],
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Output, Output]:
    """Mean and variance over axes.

    Args:
        x: floating-point of any shape; float16 is summed as float32.
        axes: an int or several, in [-rank, rank).
        shift: has no effect.
        keepdims: keep reduced dimensions, as 1. `keep_dims` is its older name.

    Returns:
        The mean and the (biased) variance, the mean of the squared distances from the mean.
    """
    keep = shaping.keeps_dims(keepdims, keep_dims)
    with name_scope(name, "moments", [x]):
        given = convert_to_tensor(x)
        wide = casting.cast(given, dtypes.float32) if given.dtype.size == 2 else given
        mean = reductions.reduce_mean(wide, axes, keepdims=True)
        distances = arithmetic.squared_difference(wide, mean)
        variance = reductions.reduce_mean(distances, axes, keepdims=keep)
        if not keep:
            mean = shaping.reshape_like(mean, variance)
        return casting.cast(mean, given.dtype), casting.cast(variance, given.dtype)


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Output:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset.

    Source: Ioffe and Szegedy, Batch Normalization, 2015, algorithm 1.

    Args:
        x: floating-point of any shape.
        mean, variance, offset, scale: broadcast to x; offset and scale may be None.
        variance_epsilon: a small positive number.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, offset, scale]):
        x, mean, variance = (convert_to_tensor(value) for value in (x, mean, variance))
        factor = elementwise.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shift = -mean * factor if offset is None else offset - mean * factor
        return x * factor + shift


def l2_normalize(
    x: Any,
    axis: Any = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: Any = None,
) -> Output:
    """x / sqrt(max(sum(x^2), epsilon)), the sum over `axis`; `dim` is its older name."""
    axes = shaping.one_of("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]):
        x = convert_to_tensor(x)
        total = reductions.reduce_sum(elementwise.square(x), axes, keepdims=True)
        return x * elementwise.rsqrt(arithmetic.maximum(total, epsilon))


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Output:
    """x with each element either 0, with probability `rate`, or scaled by 1 / (1 - rate).

    Source: Srivastava et al., Dropout, 2014.

    Args:
        x: floating-point of any shape.
        keep_prob: 1 - rate, the older argument. One of the two is needed.
        noise_shape: broadcasts to x's shape; elements that share one of its elements are dropped
            together.
        seed: of the random numbers, beside the graph's.
        rate: a number or scalar in [0, 1).

    Raises:
        ValueError: neither or both of keep_prob and rate are given, or the number is out of range.
        TypeError: x is not floating-point.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("[dropout] expected either rate or keep_prob")
    rate = 1 - keep_prob if rate is None else rate
    if not isinstance(rate, Output) and not 0 <= rate < 1:
        raise ValueError(f"[dropout] expected a rate, 1 - keep_prob, in [0, 1), got {rate}")
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x)
        if x.dtype not in dtypes.FLOATING:
            raise TypeError(f"[dropout] expected floating-point x, got {x.dtype}")
        if not isinstance(rate, Output) and rate == 0:
            return x
        sizes = shaping.shape_of(x) if noise_shape is None else noise_shape
        numbers = random.random_uniform(sizes, dtype=x.dtype, seed=seed)
        kept = casting.cast(numbers >= rate, x.dtype)
        scale = 1 / (1 - rate)
        return x * (kept * scale)
