"""Random numbers, from the counter-based generator Philox 4x32-10 (Salmon et al., Parallel Random
Numbers: As Easy as 1, 2, 3, SC 2011).

Each node has a stream of its own, keyed by the attributes seed and seed2; every step takes the next part
of it. Seeds come from the graph's seed and the node's name, so an op that is added elsewhere changes
nothing. If both attributes are 0 the stream differs in each session.
"""

from typing import Annotated

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.op_def import In, Shapes, op
from qanat.ops.shape_functions import require_scalar

__all__ = [
    
]  # fmt: skip

Sizes = Annotated[In, "T"]


@op("RandomUniform", outputs="output: dtype", stateful=True, differentiable=False,
    T=dtypes.INDEX, dtype=dtypes.FLOATING)  # fmt: skip
def random_uniform_op(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """Numbers of `shape`, uniform in [0, 1)."""
    return [shape.value_as_shape()]


@op("RandomUniformInt", outputs="output: Tout", stateful=True, differentiable=False,
    T=dtypes.INDEX, Tout=dtypes.INDEX)  # fmt: skip
def random_uniform_int(
    shape: Sizes,
    minval: Annotated[In, "Tout"],
    maxval: Annotated[In, "Tout"],
    *,
    seed: int = 0,
    seed2: int = 0,
) -> Shapes:
    """Integers of `shape`, uniform in [minval, maxval), two scalars with minval < maxval."""
    for x, name in ((minval, "minval"), (maxval, "maxval")):
        require_scalar(x, name)
    if minval.value is not None and maxval.value is not None and minval.value >= maxval.value:
        raise ValueError(f"expected minval < maxval, got {minval.value} and {maxval.value}")
    return [shape.value_as_shape()]


@op("RandomStandardNormal", outputs="output: dtype", stateful=True, differentiable=False,
    T=dtypes.INDEX, dtype=dtypes.FLOATING)  # fmt: skip
def random_standard_normal(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """Numbers of `shape`, normal with mean 0 and standard deviation 1."""
    return [shape.value_as_shape()]


@op("TruncatedNormal", outputs="output: dtype", stateful=True, differentiable=False,
    T=dtypes.INDEX, dtype=dtypes.FLOATING)  # fmt: skip
def truncated_normal_op(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """As RandomStandardNormal, but numbers beyond 2 standard deviations are drawn again."""
    return [shape.value_as_shape()]


@op("RandomShuffle", outputs="output: T", stateful=True, differentiable=False, T=dtypes.ALL)
def random_shuffle_op(value: Annotated[In, "T"], *, seed: int = 0, seed2: int = 0) -> Shapes:
    """`value` with the slices along its first dimension in random order, all orders equally likely."""
    return [value.shape]
