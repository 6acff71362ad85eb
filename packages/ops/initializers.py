"""What variables begin with: functions (shape, dtype=) -> Output.

Where a shape has a fan, the last dimension counts the outputs, the one before it the inputs, and
the others (of a convolution's filter) multiply both.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from qanat.core import dtypes
from qanat.core.base_ops import constant as constant_of
from qanat.core.graph import Output
from qanat.ops import random, shaping

__all__ = [
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]


class Initializer(Protocol):
    """Makes a variable's first value."""

    def __call__(self, shape: Sequence[int], dtype: Any = None) -> Output: ...


class zeros_initializer:
    """All elements 0."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return shaping.zeros(shape, dtype or self.dtype)


class ones_initializer:
    """All elements 1."""

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return shaping.ones(shape, dtype or self.dtype)


class constant_initializer:
    """The given value: a scalar for all elements, or as many elements as the variable has, in any
    shape.
    """

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        """
        Args:
            value: a number, an array or nested lists.
            dtype: used where the variable's is not given.
            verify_shape: whether value must have the variable's shape.
        """
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self.verify_shape = verify_shape

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return constant_of(
            self.value, dtype=dtype or self.dtype, shape=shape, verify_shape=self.verify_shape
        )


class random_uniform_initializer:
    """Uniform in [minval, maxval)."""

    def __init__(
        self,
        minval: float = -0.05,
        maxval: float = 0.05,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return random.random_uniform(
            shape, self.minval, self.maxval, dtype or self.dtype, self.seed
        )


class random_normal_initializer:
    """Normal with the given mean and standard deviation."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return random.random_normal(shape, self.mean, self.stddev, dtype or self.dtype, self.seed)


class truncated_normal_initializer:
    """Normal, but values beyond two standard deviations are drawn again."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 1.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        return random.truncated_normal(
            shape, self.mean, self.stddev, dtype or self.dtype, self.seed
        )


class variance_scaling_initializer:
    """Mean 0 and variance scale / n, where n is the fan that `mode` names.

    Source: Glorot and Bengio 2010, equation 16 (scale 1, fan_avg, uniform); He et al. 2015,
    equation 10 (scale 2, fan_in, normal).
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: Literal["fan_in", "fan_out", "fan_avg"] = "fan_in",
        distribution: Literal["truncated_normal", "untruncated_normal", "normal", "uniform"] = (
            "truncated_normal"
        ),
        seed: int | None = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        """
        Args:
            scale: positive.
            mode: divide by the number of inputs, of outputs, or their mean.
            distribution: "normal" is "truncated_normal": cut at two standard deviations, and scaled
                to have the variance asked for.
            seed: of the random op.
            dtype: used where the variable's is not given.

        Raises:
            ValueError: scale is not positive, or mode or distribution is another one.
        """
        if scale <= 0:
            raise ValueError(f"[variance_scaling] expected a positive scale, got {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"[variance_scaling] expected fan_in, fan_out or fan_avg, got {mode}")
        if distribution not in ("truncated_normal", "untruncated_normal", "normal", "uniform"):
            raise ValueError(
                "[variance_scaling] expected truncated_normal, untruncated_normal, normal or "
                f"uniform, got {distribution}"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(
        self, shape: Sequence[int], dtype: Any = None, partition_info: Any = None
    ) -> Output:
        dtype = dtype or self.dtype
        fan_in, fan_out = _fans([int(size) for size in shape])
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random.random_uniform(shape, -limit, limit, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, math.sqrt(variance), dtype, self.seed)
        stddev = math.sqrt(variance) / STDDEV_OF_TRUNCATED_NORMAL
        return random.truncated_normal(shape, 0.0, stddev, dtype, self.seed)


STDDEV_OF_TRUNCATED_NORMAL = 0.87962566103423978
"""Of a standard normal distribution cut at -2 and 2."""


def _fans(shape: list[int]) -> tuple[float, float]:
    """The numbers of inputs and outputs of a unit whose weights have the shape."""
    if len(shape) < 2:
        size = float(math.prod(shape))
        return size, size
    receptive = math.prod(shape[:-2])
    return float(shape[-2] * receptive), float(shape[-1] * receptive)


def glorot_uniform_initializer(
    seed: int | None = None, dtype: Any = dtypes.float32
) -> variance_scaling_initializer:
    """Uniform with variance 2 / (fan in + fan out). Source: Glorot and Bengio 2010, equation 16."""
    return variance_scaling_initializer(1.0, "fan_avg", "uniform", seed, dtype)


def glorot_normal_initializer(
    seed: int | None = None, dtype: Any = dtypes.float32
) -> variance_scaling_initializer:
    """Truncated normal with variance 2 / (fan in + fan out). Source: Glorot and Bengio 2010."""
    return variance_scaling_initializer(1.0, "fan_avg", "truncated_normal", seed, dtype)


def he_normal(seed: int | None = None) -> variance_scaling_initializer:
    """Truncated normal with variance 2 / fan in. Source: He et al. 2015, equation 10."""
    return variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> variance_scaling_initializer:
    """Uniform with variance 2 / fan in. Source: He et al. 2015, equation 10."""
    return variance_scaling_initializer(2.0, "fan_in", "uniform", seed)


def lecun_normal(seed: int | None = None) -> variance_scaling_initializer:
    """Truncated normal with variance 1 / fan in. Source: LeCun et al., Efficient BackProp, 1998."""
    return variance_scaling_initializer(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> variance_scaling_initializer:
    """Uniform with variance 1 / fan in. Source: LeCun et al., Efficient BackProp, 1998."""
    return variance_scaling_initializer(1.0, "fan_in", "uniform", seed)


zeros = zeros_initializer
ones = ones_initializer
constant = constant_initializer
random_uniform = random_uniform_initializer
random_normal = random_normal_initializer
truncated_normal = truncated_normal_initializer
variance_scaling = variance_scaling_initializer
glorot_uniform = glorot_uniform_initializer
glorot_normal = glorot_normal_initializer
