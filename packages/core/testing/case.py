"""Cases: what an op is tried with, and what NumPy says the answer is.

    Case(mat_mul, (numbers(3, 4), numbers(4, 5)), oracle=np.matmul)

Inputs made by the functions here are fed; `numbers` and `specials` take on every dtype the op has a
kernel for. All other inputs (ints, lists, arrays) become constants. What is drawn depends on the
case alone, so a failure can be repeated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import ShapeError
from qanat.core.op_def import OpBuilder

Array = np.ndarray[Any, Any]
# What is known of the shape of an input while the graph is built.
Known = Literal["sizes", "rank", "nothing"]

# The largest relative error that rounding explains in a result of a few operations.
TOLERANCE: Final[Mapping[DType, float]] = {
    dtypes.float64: 1e-12,
    dtypes.float32: 4e-6,
    dtypes.float16: 4e-3,
    dtypes.bfloat16: 3e-2,
    dtypes.complex64: 4e-6,
    dtypes.complex128: 1e-12,
}


@dataclass(frozen=True)
class Input:
    """An input that is fed.

    Attributes:
        shape: of the array.
        draw: called as `draw(generator, shape, dtype)`.
        dtype: None for the one that is swept.
    """

    shape: tuple[int, ...]
    draw: Callable[[np.random.Generator, tuple[int, ...], DType], Array]
    dtype: DType | None = None

    def array(self, generator: np.random.Generator, swept: DType | None) -> Array:
        """The value, of the swept dtype unless it has one of its own."""
        dtype = self.dtype or swept
        assert dtype is not None
        return np.asarray(self.draw(generator, self.shape, dtype), dtype.as_numpy)


def numbers(*shape: int, low: float = -2.0, high: float = 2.0) -> Input:
    """Numbers in [low, high), of the swept dtype: whole ones for integers, from 0 for unsigned
    ones.

    For bools they are random bits, for strings short random strings.
    """

    def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        if dtype.kind == "b":
            return generator.integers(0, 2, shape).astype(bool)
        if dtype.kind == "S":
            return np.vectorize(lambda n: b"\0" * (n % 2) + str(n).encode(), otypes=[object])(
                generator.integers(0, 99, shape)
            )
        if dtype.is_integer:
            least = max(int(np.ceil(low)), 0 if dtype.is_unsigned else -128)
            return generator.integers(least, max(int(high), least + 1), shape)
        real = generator.uniform(low, high, shape)
        return real + 1j * generator.uniform(low, high, shape) if dtype.is_complex else real

    return Input(shape, draw)


def nonzero(*shape: int, low: float = 0.5, high: float = 3.0) -> Input:
    """Numbers in [low, high), with random signs where the swept dtype has any."""
    positive = numbers(*shape, low=low, high=high)

    def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        values = np.asarray(positive.draw(generator, shape, dtype))
        return values if dtype.is_unsigned else values * generator.choice([-1, 1], shape)

    return Input(shape, draw)


def specials() -> Input:
    """A vector with all that is special in the swept dtype: zeros, limits, infinities, NaN."""

    def draw(_: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        if dtype.is_floating:
            values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, float(dtype.max)]
        else:
            values = [0, 1, 2, 3, int(dtype.max), int(dtype.min), int(dtype.max) - 1, 5, 6, 7]
        with np.errstate(invalid="ignore", over="ignore"):
            return np.array(values).astype(dtype.as_numpy)

    return Input((10,), draw)


def distinct(*shape: int) -> Input:
    """Numbers no two of which are equal or close, in random order: for maxima, sorting and ranks.
    """

    def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        size = int(np.prod(shape))
        return generator.permutation(size).reshape(shape) * (0.5 if dtype.is_floating else 1)

    return Input(shape, draw)


def listed(values: Any, dtype: DType | None = None) -> Input:
    """Exactly these values, of the swept dtype or a given one."""
    array = np.asarray(values)
    return Input(array.shape, lambda generator, shape, dtype: array, dtype)


def ints(*shape: int, low: int = -5, high: int = 5, dtype: DType = dtypes.int32) -> Input:
    """Whole numbers in [low, high) of one dtype."""
    return Input(shape, lambda generator, shape, _: generator.integers(low, high, shape), dtype)


def labels(*shape: int, classes: int, dtype: DType = dtypes.int64) -> Input:
    """Class numbers in [0, classes)."""
    return ints(*shape, low=0, high=classes, dtype=dtype)


def bools(*shape: int) -> Input:
    """Random truth values."""
    return Input(shape, lambda generator, shape, _: generator.integers(0, 2, shape), dtypes.bool_)


def distributions(rows: int, classes: int) -> Input:
    """Rows of positive numbers that add up to 1."""

    def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
        weights = generator.uniform(0.1, 1.0, shape)
        return weights / weights.sum(axis=-1, keepdims=True)

    return Input((rows, classes), draw)


@dataclass(frozen=True)
class Misuse:
    """Inputs that an op refuses.

    Attributes:
        inputs: as of a Case.
        message: a regular expression that the error's message has to match.
        error: its class. ShapeError, TypeError and ValueError are raised while the graph is built;
            of an OpError the step fails.
        attrs: those of the case, changed by these.
        dtype: that is swept; float32 if the case has it, else the case's first.
    """

    inputs: tuple[Any, ...]
    message: str
    error: type[Exception] = ShapeError
    attrs: Mapping[str, Any] = field(default_factory=dict)
    dtype: DType | None = None


@dataclass(frozen=True)
class Case:
    """One way to use an op, and the answer.

    Attributes:
        op: an op, or a composition of ops.
        inputs: each made by a function of this module, or a constant.
        attrs: keyword arguments.
        oracle: called with the inputs as arrays, floats as float64; gives the result, or a sequence
            of them.
        holds: called with the result arrays in place of a comparison with the oracle's.
        dtypes: to sweep; all the op accepts if not given.
        gradient: whether the numeric check of the gradient applies.
        second_order: whether that of the gradient's gradient does.
        needs: what has to be known of its inputs' shapes while the graph is built.
        exact: whether the static shape is all of the shape, when the shapes of inputs are known.
        tolerance: a factor on TOLERANCE, for long sums.
        misuse: what the op refuses.
        covers: ops that a composition is the case of.
    """

    op: Callable[..., Any]
    inputs: tuple[Any, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    oracle: Callable[..., Any] | None = None
    holds: Callable[..., None] | None = None
    dtypes: Iterable[DType] | None = None
    gradient: bool = True
    second_order: bool = True
    needs: Known = "nothing"
    exact: bool = True
    tolerance: float = 1.0
    misuse: Sequence[Misuse] = ()
    covers: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The op and the shapes it is tried with."""
        shown = [_shown(value) for value in self.inputs]
        shown += [f"{key}={_shown(value)}" for key, value in self.attrs.items()]
        name = self.op.op_def.name if isinstance(self.op, OpBuilder) else self.op.__name__
        return f"{name.strip('_')}-{'-'.join(shown)}"

    def ops(self) -> list[str]:
        """The names of the ops it is a case of."""
        own = [self.op.op_def.name] if isinstance(self.op, OpBuilder) else []
        return [*own, *self.covers]

    def swept(self) -> list[DType | None]:
        """The dtypes to try; [None] where no input is of a swept one."""
        if self.dtypes is not None:
            return _in_order(self.dtypes)
        if not _has_swept(self.inputs):
            return [None]
        allowed: Iterable[DType] = (dtypes.float32, dtypes.float64)
        if isinstance(self.op, OpBuilder):
            allowed = self._accepted(self.op)
        return _in_order(allowed)

    def _accepted(self, op: OpBuilder) -> Iterable[DType]:
        """What the type attr of the first swept input allows."""
        for arg, value in zip(op.op_def.inputs, self.inputs, strict=True):
            if arg.type_attr and _has_swept(value):
                allowed = op.op_def.attrs[arg.type_attr].allowed
                return (dtypes.ALL if allowed is None else allowed) - {dtypes.resource}
        raise TypeError(f"{op!r}: expected an input of a swept dtype")


def _in_order(given: Iterable[DType]) -> list[DType | None]:
    return [*sorted(given, key=lambda dtype: dtype.number)]


def _has_swept(value: Any) -> bool:
    return any(isinstance(one, Input) and one.dtype is None for one in _flat(value))


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for element in value:
            yield from _flat(element)
    else:
        yield value


def _shown(value: Any) -> str:
    if isinstance(value, Input):
        return "x".join(map(str, value.shape)) or "scalar"
    if isinstance(value, (list, tuple)) and any(isinstance(v, Input) for v in _flat(value)):
        return "+".join(map(_shown, value))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return str(value).replace(" ", "")
