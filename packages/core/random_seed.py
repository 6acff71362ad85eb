"""Seeds of random ops: from the graph's seed and the op's place, never from a running count of
ops."""

import zlib
from typing import Final

from qanat.core.default_graph import get_default_graph

# Stands for the graph's seed where only an op has one.
DEFAULT_GRAPH_SEED: Final = 87654321


def set_random_seed(seed: int | None) -> None:
    """Sets the seed of the default graph: random ops made later give the same numbers in each
    session.

    Args:
        seed: None for numbers that differ from session to session.
    """
    get_default_graph().seed = seed


def get_seed(op_seed: int | None, name: str | None = None) -> tuple[int, int]:
    """The attributes (seed, seed2) of a random op to be made; (0, 0) is "differs in each session".

    With only the graph's seed, seed2 comes from the op's name, so that adding an unrelated op
    changes nothing. Two calls in one place with one name give different seeds.

    Args:
        op_seed: the seed the user gave the op, or None.
        name: of the op in the current name scope.
    """
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        return 0, 0
    seed = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    seed2 = graph.seed_of(name or "seed") if op_seed is None else op_seed
    # 0, 0 means "no seed": a user who asks for it gets a seed nevertheless.
    return (0, 2**31 - 1) if seed == 0 and seed2 == 0 else (seed, seed2)


def seed_of_name(name: str, uses: int) -> int:
    """A seed for the use number `uses` of a name, the same in every process."""
    text = f"{name}#{uses}" if uses else name
    return zlib.crc32(text.encode("utf-8")) & 0x7FFFFFFF
