"""The partial derivatives that arrive at an output, and their sum."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from qanat.core.graph import Operation, Output
from qanat.ops import add, add_n


class Partials:
    """Collects, for every output, one partial derivative for each path by which it is used.

    Args:
        placed_with: gives the context in which a sum is built, for the operation whose output it
            belongs to.
    """

    def __init__(self, placed_with: Callable[[Operation], AbstractContextManager[None]]) -> None:
        self._placed_with = placed_with
        self._of: dict[Output, list[Output]] = {}

    def add(self, output: Output, partial: Output) -> None:
        self._of.setdefault(output, []).append(partial)

    def total(self, output: Output) -> Output | None:
        """The sum of all that was added so far; None if nothing was. Summed once, however often
        asked.
        """
        partials = self._of.get(output)
        if partials is None:
            return None
        if len(partials) > 1:
            with self._placed_with(output.op):
                partials[:] = [add(*partials) if len(partials) == 2 else add_n(partials)]
        return partials[0]
