"""Static shapes: a number of dimensions, each known or not, or nothing known at all."""

import operator
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, Final, Union, overload

from qanat.core.errors import ShapeError

Dims = tuple[int | None, ...]
ShapeLike = Union["TensorShape", None, int, Iterable[int | None]]

INT64_MAX: Final = 2**63 - 1


class TensorShape:
    """The shape of a tensor as far as it is known before it is computed. Immutable.

    Attributes:
        dims: a tuple of sizes, None for an unknown one; None if even the rank is unknown.
    """

    __slots__ = ("dims",)
    dims: Dims | None

    def __init__(self, dims: ShapeLike = None) -> None:
        """
        Args:
            dims: sizes, None or -1 for an unknown one; None for unknown rank; an int n for (n,).

        Raises:
            TypeError: a size is no integer.
            ShapeError: a size is negative, or there are more elements than an int64 counts.
        """
        if type(dims) is tuple:
            self.dims = _checked(dims)
        elif dims is None:
            self.dims = None
        elif isinstance(dims, TensorShape):
            self.dims = dims.dims
        elif isinstance(dims, Iterable):
            self.dims = _checked(tuple(dims))
        else:
            self.dims = _checked((dims,))

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None if unknown."""
        return None if self.dims is None else len(self.dims)

    ndims = rank

    def as_list(self) -> list[int | None]:
        """The sizes as a new list.

        Raises:
            ShapeError: the rank is unknown.
        """
        return list(self.known_dims())

    def known_dims(self) -> Dims:
        """`dims` where the rank is known; raises ShapeError where it is not."""
        if self.dims is None:
            raise ShapeError("expected a shape of known rank, got one of unknown rank")
        return self.dims

    def is_fully_defined(self) -> bool:
        return self.dims is not None and None not in self.dims

    def num_elements(self) -> int | None:
        """The number of elements; None unless fully defined."""
        if self.dims is None or None in self.dims:
            return None
        return prod(self.dims)  # type: ignore[arg-type]

    def is_compatible_with(self, other: ShapeLike) -> bool:
        """Whether some tensor could have both shapes."""
        a, b = self.dims, as_shape(other).dims
        if a is None or b is None:
            return True
        return len(a) == len(b) and all(
            x == y or x is None or y is None for x, y in zip(a, b, strict=True)
        )

    def assert_is_compatible_with(self, other: ShapeLike) -> None:
        """Raises ShapeError unless `is_compatible_with(other)`."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"expected a shape compatible with {self}, got {as_shape(other)}")

    def merge_with(self, other: ShapeLike) -> "TensorShape":
        """All that both shapes know; raises ShapeError where they contradict each other."""
        return merge(self, as_shape(other))

    def concatenate(self, other: ShapeLike) -> "TensorShape":
        """This shape's dimensions, then the other's; unknown rank if either is."""
        return concatenate(self, as_shape(other))

    def with_rank(self, rank: int) -> "TensorShape":
        """This shape, known to have `rank` dimensions.

        Raises:
            ShapeError: it is known to have another number.
        """
        if self.dims is None:
            return TensorShape((None,) * rank)
        if len(self.dims) != rank:
            raise ShapeError(f"expected rank {rank}, got shape {self}")
        return self

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """This shape; raises ShapeError if it is known to have fewer dimensions."""
        if self.dims is not None and len(self.dims) < rank:
            raise ShapeError(f"expected rank {rank} or more, got shape {self}")
        return self

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """This shape; raises ShapeError if it is known to have more dimensions."""
        if self.dims is not None and len(self.dims) > rank:
            raise ShapeError(f"expected rank {rank} or less, got shape {self}")
        return self

    def __len__(self) -> int:
        return len(self.known_dims())

    def __iter__(self) -> Iterator[int | None]:
        return iter(self.known_dims())

    @overload
    def __getitem__(self, key: int) -> int | None: ...
    @overload
    def __getitem__(self, key: slice) -> "TensorShape": ...
    def __getitem__(self, key: int | slice) -> Any:
        """A size, or the shape of a range of dimensions; what is asked of an unknown rank is
        None."""
        if self.dims is None:
            if isinstance(key, int):
                return None
            stop = key.stop
            known = stop is not None and stop >= 0 and (key.start or 0) >= 0 and key.step is None
            return TensorShape((None,) * max(0, stop - (key.start or 0)) if known else None)
        return TensorShape(self.dims[key]) if isinstance(key, slice) else self.dims[key]

    def __bool__(self) -> bool:
        """Whether the rank is known."""
        return self.dims is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TensorShape):
            return self.dims == other.dims
        try:
            return self.dims == TensorShape(other).dims  # type: ignore[arg-type]
        except (TypeError, ShapeError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        """As errors and the text form show it: [2,?,3], or <unknown>."""
        if self.dims is None:
            return "<unknown>"
        return "[" + ",".join("?" if size is None else str(size) for size in self.dims) + "]"


def _checked(dims: tuple[Any, ...]) -> Dims:
    count = 1
    plain = True
    for size in dims:
        if type(size) is int and size >= 0:
            count *= size or 1
        else:
            plain = False
    if not plain:
        dims = tuple(_checked_size(size, dims) for size in dims)
        count = prod(size or 1 for size in dims)
    if count > INT64_MAX:
        raise ShapeError(
            f"expected a shape of at most 2^63 - 1 elements, got [{','.join(map(str, dims))}]"
        )
    return dims


def _checked_size(given: Any, dims: tuple[Any, ...]) -> int | None:
    if given is None:
        return None
    try:
        size = None if isinstance(given, bool) else operator.index(given)
    except TypeError:
        size = None
    if size is None:
        raise TypeError(
            f"expected a shape of integers and None, got {given!r} of type "
            f"{type(given).__name__} in {dims!r}"
        )
    if size < -1:
        raise ShapeError(f"expected sizes of 0 or more (or -1, None for unknown), got {dims!r}")
    return None if size == -1 else size


SCALAR: Final = TensorShape(())
UNKNOWN: Final = TensorShape(None)


def as_shape(value: ShapeLike) -> TensorShape:
    return value if isinstance(value, TensorShape) else TensorShape(value)


def merge(a: TensorShape, b: TensorShape) -> TensorShape:
    """All that both shapes know of the same tensor.

    Raises:
        ShapeError: they contradict each other.
    """
    if a.dims is None:
        return b
    if b.dims is None or a.dims == b.dims:
        return a
    if not a.is_compatible_with(b):
        raise ShapeError(f"expected shapes that agree, got {a} and {b}")
    return TensorShape(tuple(y if x is None else x for x, y in zip(a.dims, b.dims, strict=True)))


def concatenate(a: TensorShape, b: TensorShape) -> TensorShape:
    """The dimensions of `a`, then those of `b`; unknown rank if either is."""
    if a.dims is None or b.dims is None:
        return UNKNOWN
    return TensorShape(a.dims + b.dims)


def broadcast(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape of an elementwise op on `a` and `b` by NumPy's rules.

    A known size over 1 wins over an unknown one; an unknown one with 1 or unknown stays unknown.

    Raises:
        ShapeError: two sizes differ and neither is 1.
    """
    if a.dims is None or b.dims is None:
        return UNKNOWN
    if a.dims == b.dims and None not in a.dims:
        return a
    long, short = (a.dims, b.dims) if len(a.dims) >= len(b.dims) else (b.dims, a.dims)
    if not short:
        return a if long is a.dims else b
    ahead = len(long) - len(short)
    sizes = list(long[:ahead])
    for x, y in zip(long[ahead:], short, strict=True):
        if x == y or y == 1:
            sizes.append(x)
        elif x == 1:
            sizes.append(y)
        elif x is None or y is None:
            sizes.append(y if x is None else x)
        else:
            raise ShapeError(
                f"expected shapes that broadcast (sizes equal or 1, from the last), got {a} and {b}"
            )
    return TensorShape(tuple(sizes))
