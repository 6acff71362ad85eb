"""Random numbers, from the counter-based generator Philox 4x32-10 (Salmon et al., Parallel Random
Numbers: As Easy as 1, 2, 3, SC 2011).

Each node has a stream of its own, keyed by the attributes seed and seed2; every step takes the next
part of it. Seeds come from the graph's seed and the node's name, so an op that is added elsewhere
changes nothing. If both attributes are 0 the stream differs in each session. Stateless ops are
given their stream's key in each step instead.
"""

from typing import Annotated, Any

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.graph import Output, convert_to_tensor, name_scope
from qanat.core.op_def import In, OpBuilder, Shapes, op
from qanat.core.random_seed import get_seed
from qanat.core.shapes import TensorShape
from qanat.ops import arithmetic, shaping
from qanat.ops.shape_functions import (
    dims_of_rank,
    dims_of_vector,
    require_scalar,
    same_dim,
    scalar_int,
    sizes,
)

# `stateless_uniform` is shown in `qn.random` alone, as in TensorFlow.
__all__ = [
    "multinomial",
    "random_normal",
    "random_shuffle",
    "random_uniform",
    "truncated_normal",
]

Sizes = Annotated[In, "T"]


@op(
    "RandomUniform",
    outputs="output: dtype",
    stateful=True,
    differentiable=False,
    T=dtypes.INDEX,
    dtype=dtypes.FLOATING,
)
def random_uniform_op(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """Numbers of `shape`, uniform in [0, 1)."""
    return [sizes(shape, "shape")]


@op(
    "RandomUniformInt",
    outputs="output: Tout",
    stateful=True,
    differentiable=False,
    T=dtypes.INDEX,
    Tout=dtypes.INDEX,
)
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
    return [sizes(shape, "shape")]


@op(
    "RandomStandardNormal",
    outputs="output: dtype",
    stateful=True,
    differentiable=False,
    T=dtypes.INDEX,
    dtype=dtypes.FLOATING,
)
def random_standard_normal(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """Numbers of `shape`, normal with mean 0 and standard deviation 1."""
    return [sizes(shape, "shape")]


@op(
    "TruncatedNormal",
    outputs="output: dtype",
    stateful=True,
    differentiable=False,
    T=dtypes.INDEX,
    dtype=dtypes.FLOATING,
)
def truncated_normal_op(shape: Sizes, *, seed: int = 0, seed2: int = 0, dtype: DType) -> Shapes:
    """As RandomStandardNormal, but numbers beyond 2 standard deviations are drawn again."""
    return [sizes(shape, "shape")]


@op("RandomShuffle", outputs="output: T", stateful=True, differentiable=False, T=dtypes.ALL)
def random_shuffle_op(value: Annotated[In, "T"], *, seed: int = 0, seed2: int = 0) -> Shapes:
    """`value` with the slices along its first dimension in random order."""
    return [value.shape]


@op(
    "StatelessRandomUniform",
    outputs="output: dtype",
    differentiable=False,
    T=dtypes.INDEX,
    Tseed=dtypes.INDEX,
    dtype=dtypes.FLOATING,
)
def stateless_random_uniform(
    shape: Sizes, seed: Annotated[In, "Tseed"], *, dtype: DType
) -> Shapes:
    """Numbers of `shape`, uniform in [0, 1), that depend on shape and the two integers of `seed`
    alone.
    """
    same_dim(dims_of_vector(seed, "seed"), 2, "the length of seed and 2")
    return [sizes(shape, "shape")]


@op(
    "Multinomial",
    outputs="output: output_dtype",
    stateful=True,
    differentiable=False,
    T=dtypes.FLOATING,
    output_dtype=dtypes.INDEX,
)
def multinomial_op(
    logits: Annotated[In, "T"],
    num_samples: Annotated[In, "int32"],
    *,
    seed: int = 0,
    seed2: int = 0,
    output_dtype: DType = dtypes.int64,
) -> Shapes:
    """See `multinomial`."""
    rows, classes = dims_of_rank(logits, "logits", 2)
    samples = scalar_int(num_samples, "num_samples")
    if samples is not None and samples < 0:
        raise ShapeError(f"expected num_samples of 0 or more, got {samples}")
    if classes == 0 and rows and samples:
        raise ShapeError("expected logits of one class or more, got none")
    return [TensorShape([rows, samples])]


def _seeds(seed: int | None, name: str) -> dict[str, Any]:
    first, second = get_seed(seed, name)
    return {"seed": first, "seed2": second}


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Output:
    """Numbers uniform in [minval, maxval).

    Args:
        shape: of the result: a list of ints, a TensorShape or an integer vector.
        minval: the least number, a scalar of dtype.
        maxval: the bound, a scalar; 1 if not given, but integers need it.
        dtype: floating-point, int32 or int64.
        seed: of this op, beside the graph's.

    Raises:
        ValueError: integers are asked for without maxval, or minval >= maxval.
    """
    dtype = dtypes.as_dtype(dtype)
    if maxval is None:
        if dtype not in dtypes.FLOATING:
            raise ValueError(f"[random_uniform] expected a maxval for {dtype}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        sizes = shaping.as_shape_input(shape)
        if dtype not in dtypes.FLOATING:
            low, high = (convert_to_tensor(x, dtype=dtype) for x in (minval, maxval))
            return random_uniform_int(sizes, low, high, **_seeds(seed, "RandomUniformInt"))
        numbers = random_uniform_op(sizes, dtype=dtype, **_seeds(seed, "RandomUniform"))
        return _scaled(numbers, minval, maxval, scope)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = 1,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Output:
    """Numbers uniform in [minval, maxval) that depend on the arguments alone: the same in every
    step and session, with any number of threads.

    Args:
        shape: of the result: a list of ints, a TensorShape or an integer vector.
        seed: two integers, int32 or int64; a tensor where each step has another one.
        minval, maxval: scalars of dtype.
        dtype: floating-point.

    Raises:
        ShapeError: seed has not two elements.
    """
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        numbers = stateless_random_uniform(
            shaping.as_shape_input(shape), convert_to_tensor(seed), dtype=dtypes.as_dtype(dtype)
        )
        return _scaled(numbers, minval, maxval, scope)


def _scaled(numbers: Output, minval: Any, maxval: Any, scope: str) -> Output:
    """Numbers in [0, 1) moved to [minval, maxval)."""
    if not isinstance(minval, Output) and not isinstance(maxval, Output):
        if minval == 0 and maxval == 1:
            return numbers
        return arithmetic.add(numbers * (maxval - minval), minval, name=scope)
    low = convert_to_tensor(minval, dtype=numbers.dtype)
    return arithmetic.add(numbers * (maxval - low), low, name=scope)


def random_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Output:
    """Numbers from a normal distribution.

    Args:
        shape: of the result: a list of ints, a TensorShape or an integer vector.
        mean, stddev: scalars, or tensors that broadcast to shape.
        dtype: floating-point.
        seed: of this op, beside the graph's.
    """
    return _normal(random_standard_normal, "random_normal", shape, mean, stddev, dtype, seed, name)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Output:
    """As `random_normal`, but numbers beyond two standard deviations are drawn again."""
    return _normal(truncated_normal_op, "truncated_normal", shape, mean, stddev, dtype, seed, name)


def _normal(
    builder: OpBuilder,
    default_name: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Output:
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        numbers = builder(
            shaping.as_shape_input(shape),
            dtype=dtypes.as_dtype(dtype),
            **_seeds(seed, builder.op_def.name),
        )
        return arithmetic.add(numbers * stddev, mean, name=scope)


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Output:
    """`value` with the slices along its first dimension in random order, all orders equally likely.

    Args:
        value: any shape and dtype.
        seed: of this op, beside the graph's.
    """
    return random_shuffle_op(value, **_seeds(seed, name or "RandomShuffle"), name=name)


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = dtypes.int64,
) -> Output:
    """Classes drawn at random: class j of row i with the probability softmax(logits)[i, j].

    Args:
        logits: floating-point [batch, classes]: logarithms of probabilities, up to a constant.
        num_samples: how many to draw of each row, a scalar.
        seed: of this op, beside the graph's.
        output_dtype: int32 or int64.

    Returns:
        [batch, num_samples], each in [0, classes).

    Raises:
        ShapeError: logits has not rank 2, or no classes.
        InvalidArgumentError: a logit is NaN or infinite, or all of a row are -infinity; the step
            fails.
    """
    return multinomial_op(
        logits,
        num_samples,
        output_dtype=dtypes.as_dtype(output_dtype),
        **_seeds(seed, name or "Multinomial"),
        name=name,
    )
