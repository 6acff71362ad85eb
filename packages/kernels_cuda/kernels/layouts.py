"""Shapes and strides as structs of `cu/*.cu`: dimensions are joined where the elements allow it."""

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import prod

MAX_RANK = 8

Dims = Sequence[int]


def contiguous(dims: Dims) -> list[int]:
    """The strides of an array that lies row by row."""
    strides = [1] * len(dims)
    for i in range(len(dims) - 2, -1, -1):
        strides[i] = strides[i + 1] * dims[i + 1]
    return strides


def broadcast_strides(dims: Dims, target: Dims) -> list[int]:
    """The strides by which an array is read as if it had the shape `target`."""
    padded = [1] * (len(target) - len(dims)) + list(dims)
    return [
        0 if size == 1 else stride for size, stride in zip(padded, contiguous(padded), strict=True)
    ]


def joined(dims: Dims, *strides: Dims) -> tuple[list[int], list[list[int]]]:
    """The same walk over elements with as few dimensions as possible, one at least."""
    kept: list[int] = []
    walks: list[list[int]] = [[] for _ in strides]
    for size, *steps in zip(dims, *strides, strict=True):
        if size == 1:
            continue
        fits = kept and all(
            walk[-1] == step * size for walk, step in zip(walks, steps, strict=True)
        )
        if fits:
            kept[-1] *= size
            for walk, step in zip(walks, steps, strict=True):
                walk[-1] = step
        else:
            kept.append(size)
            for walk, step in zip(walks, steps, strict=True):
                walk.append(step)
    if not kept:
        return [1], [[0] for _ in strides]
    return kept, walks


def walk(dims: Dims, *strides: Dims) -> bytes:
    """The structs Broadcast and Strided: count, rank, sizes and strides of each array.

    Raises:
        ValueError: the walk has more dimensions than kernels know.
    """
    kept, walks = joined(dims, *strides)
    if len(kept) > MAX_RANK:
        raise ValueError(f"expected rank {MAX_RANK} or less, got shape {list(dims)}")
    padded = [[*row, *[0] * (MAX_RANK - len(row))] for row in (kept, *walks)]
    numbers = [prod(dims), len(kept), *(number for row in padded for number in row)]
    return struct.pack(f"<{len(numbers)}q", *numbers)


@lru_cache(maxsize=4096)
def broadcast_walk(target: tuple[int, ...], *shapes: tuple[int, ...]) -> bytes:
    """`walk` over arrays of these shapes, each repeated to the shape `target`."""
    return walk(target, *(broadcast_strides(shape, target) for shape in shapes))
