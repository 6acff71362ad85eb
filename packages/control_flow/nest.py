"""Structures of values: lists, tuples, named tuples and dicts, nested as you like.

Anything else is a leaf. Dicts are taken apart in the order of their sorted keys.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


def flatten(structure: Any) -> list[Any]:
    """The leaves."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in flatten(part)]
    return [structure]


def pack(structure: Any, leaves: Sequence[Any]) -> Any:
    """The same structure with other leaves.

    Raises:
        ValueError: there are more or fewer than it has.
    """
    rest = iter(leaves)
    count = len(flatten(structure))
    if count != len(leaves):
        raise ValueError(f"expected {count} values for the structure, got {len(leaves)}")
    return _pack(structure, rest)


def _pack(structure: Any, rest: Iterator[Any]) -> Any:
    if isinstance(structure, Mapping):
        packed = {key: _pack(structure[key], rest) for key in sorted(structure)}
        ordered = {key: packed[key] for key in structure}
        make: Any = type(structure)
        return ordered if make is dict else make(ordered)
    if isinstance(structure, (list, tuple)):
        parts = [_pack(part, rest) for part in structure]
        if isinstance(structure, list):
            return parts
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    return next(rest)


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """The structure of the first with the results of a function of the leaves in each place."""
    leaves = [flatten(structure) for structure in structures]
    return pack(structures[0], [function(*each) for each in zip(*leaves, strict=True)])


def same_structure(a: Any, b: Any) -> bool:
    """Whether two structures differ in their leaves at most; lists and tuples are alike."""
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return (
            isinstance(a, Mapping)
            and isinstance(b, Mapping)
            and sorted(a) == sorted(b)
            and all(same_structure(a[key], b[key]) for key in a)
        )
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        return (
            isinstance(a, (list, tuple))
            and isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(map(same_structure, a, b))
        )
    return True
