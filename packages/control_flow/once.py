"""What a gradient of control flow is to the engine of gradients: something not to be differentiated
again.
"""

from collections.abc import Sequence
from typing import NoReturn

from qanat.core.graph import Output


class OnceOnly:
    """A backward branch or loop. What it depends on includes what the forward one left on stacks,
    of which no edge of the graph tells."""

    def __init__(
        self, name: str, where: str, inputs: Sequence[Output], outputs: Sequence[Output]
    ) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self._where = where
        for output in outputs:
            output.op.construct = self

    def input_gradients(self, grads: Sequence[Output | None]) -> NoReturn:
        raise LookupError(
            f"expected a first derivative through {self._where}, got a second one, which is "
            "not to be had: unroll it, or take the derivative within it"
        )
