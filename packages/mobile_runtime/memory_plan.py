"""Places in one arena for the values of a model: values that are alive at once never overlap.

Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020),
section 5.2: the largest values first, each at the lowest place where nothing that is alive with it
stands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from qanat.mobile_runtime.model import Model

ALIGNMENT: Final = 64

# For each node, by the number of an output, the number of the input whose bytes it may have.
Sharing = Sequence[Mapping[int, int]]


@dataclass(frozen=True)
class Lifetime:
    """A piece of the arena: a value, or several that share their bytes.

    Attributes:
        values: indices into `Model.values`.
        size: in bytes, a multiple of ALIGNMENT.
        first, last: the nodes during which it is alive; -1 is before the first, and the number of
            nodes behind the last.
    """

    values: tuple[int, ...]
    size: int
    first: int
    last: int

    def meets(self, other: "Lifetime") -> bool:
        return self.first <= other.last and other.first <= self.last


def plan_arena(model: Model, sharing: Sharing = ()) -> Model:
    """The model with an offset for each value that is no constant.

    Args:
        sharing: what a node's outputs may share with its inputs, for as many nodes as are given.
            An input that is needed later, is given twice, or is a constant, is not
            shared.

    Raises:
        ValueError: `sharing` names an input or output that its node has not.
    """
    pieces = lifetimes(model, sharing)
    offsets: dict[int, int] = {}
    arena_bytes = 0
    for piece, offset in zip(pieces, _placed(pieces), strict=True):
        arena_bytes = max(arena_bytes, offset + piece.size)
        offsets.update(dict.fromkeys(piece.values, offset))
    values = [replace(value, offset=offsets.get(i)) for i, value in enumerate(model.values)]
    return replace(model, values=tuple(values), arena_bytes=arena_bytes)


def lower_bound(model: Model, sharing: Sharing = ()) -> int:
    """The bytes that are alive at the worst moment: no plan needs fewer."""
    pieces = lifetimes(model, sharing)
    return max(
        (
            sum(piece.size for piece in pieces if piece.first <= moment <= piece.last)
            for moment in range(-1, len(model.nodes) + 1)
        ),
        default=0,
    )


def lifetimes(model: Model, sharing: Sharing = ()) -> list[Lifetime]:
    """The pieces of the arena, in the order in which they come alive.

    A model's inputs are alive from before the first node to their last use, its outputs until after
    the last node. A value that nobody uses is alive while its node runs.
    """
    first: dict[int, int] = dict.fromkeys(model.inputs.values(), -1)
    last: dict[int, int] = dict(first)
    for i, node in enumerate(model.nodes):
        first.update((value, i) for value in node.outputs)
        last.update((value, i) for value in (*node.outputs, *node.inputs))
    last.update((value, len(model.nodes)) for value in model.outputs.values())
    owner = _owners(model, sharing, last)
    members: dict[int, list[int]] = {}
    for value in first:
        if model.values[value].data is None:
            members.setdefault(owner.get(value, value), []).append(value)
    return [
        Lifetime(
            tuple(values),
            max(_bytes(model, value) for value in values),
            min(first[value] for value in values),
            max(last[value] for value in values),
        )
        for values in members.values()
    ]


def _owners(model: Model, sharing: Sharing, last: Mapping[int, int]) -> dict[int, int]:
    """For each value that takes over the bytes of an earlier one, the first that had them."""
    owner: dict[int, int] = {}
    for i, (node, shares) in enumerate(zip(model.nodes, sharing, strict=False)):
        taken: set[int] = set()
        for output, from_input in shares.items():
            if not (0 <= output < len(node.outputs) and 0 <= from_input < len(node.inputs)):
                raise ValueError(
                    f"[{node.op}] expected sharing among {len(node.inputs)} inputs and "
                    f"{len(node.outputs)} outputs, got output {output} of input {from_input} "
                    f"(node '{node.name}')"
                )
            source, target = node.inputs[from_input], node.outputs[output]
            if model.values[source].data is not None or last[source] > i or source in taken:
                continue
            # Another input with the same bytes may be read after they are written.
            if node.inputs.count(source) == 1 and _bytes(model, source) == _bytes(model, target):
                taken.add(source)
                owner[target] = owner.get(source, source)
    return owner


def _bytes(model: Model, index: int) -> int:
    """What a value takes up; an empty one has a place, too."""
    value = model.values[index]
    size = prod(value.shape) * value.dtype.size
    return -(-size // ALIGNMENT) * ALIGNMENT


def _placed(pieces: Sequence[Lifetime]) -> list[int]:
    """The offset of each piece."""
    order = sorted(range(len(pieces)), key=lambda i: (-pieces[i].size, pieces[i].first))
    offsets = [0] * len(pieces)
    placed: list[int] = []
    for i in order:
        blocked = sorted(
            (offsets[j], offsets[j] + pieces[j].size)
            for j in placed
            if pieces[j].meets(pieces[i])
        )
        at = 0
        for begin, end in blocked:
            if at + pieces[i].size <= begin:
                break
            at = max(at, end)
        offsets[i] = at
        placed.append(i)
    return offsets
