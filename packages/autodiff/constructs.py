"""Parts of a graph that are differentiated as a whole: a cond, a loop.

What the operations inside do to gradients depends on how often and whether they run, so whoever
builds such a construct says how it is differentiated: each Operation that gives one of its results
has it as `construct`. Nothing here knows what constructs there are.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from qanat.core.graph import Operation, Output


class Construct(Protocol):
    """What `Operation.construct` is.

    Attributes:
        name: of the scope in which its gradient is built.
    """

    name: str

    @property
    def inputs(self) -> Sequence[Output]:
        """The values from outside that the results depend on."""

    @property
    def outputs(self) -> Sequence[Output]:
        """The results, outside of it."""

    def input_gradients(
        self, grads: Sequence[Output | None]
    ) -> Iterable[tuple[Output, Output | None]]:
        """Adds the operations that compute the gradients of inputs to the graph.

        Args:
            grads: one an output; None where none arrived.

        Returns:
            Pairs of an input and its gradient, None for none; inputs may be left out.
        """


def node_of(op: Operation) -> Operation | Construct:
    """What is differentiated as a whole and has the outputs of `op`."""
    construct: Construct | None = op.construct
    return op if construct is None else construct
