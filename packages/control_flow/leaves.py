"""The values in a structure, as Outputs: what control flow passes around."""

from typing import Any

from qanat.control_flow import nest
from qanat.control_flow.tensor_array import TensorArray
from qanat.core.graph import Output, convert_to_tensor


class Leaves:
    """A structure taken apart.

    Attributes:
        outputs: one a leaf; of a TensorArray it is the flow.
    """

    def __init__(self, structure: Any, where: str, like: "Leaves | None" = None) -> None:
        """
        Args:
            where: the function to blame.
            like: leaves whose dtypes plain values take on.

        Raises:
            TypeError: there is a leaf that is no value, or no TensorArray where there was one.
        """
        self._leaves = nest.flatten(structure)
        before: list[Any] = [None] * len(self._leaves) if like is None else like._leaves
        dtypes = [None if like is None else output.dtype for output in _outputs_of(like)] or [
            None
        ] * len(self._leaves)
        self.outputs: list[Output] = []
        for leaf, old, dtype in zip(self._leaves, before, dtypes, strict=True):
            if isinstance(old, TensorArray) != isinstance(leaf, TensorArray) and like is not None:
                raise TypeError(f"[{where}] expected {old!r} to stay what it is, got {leaf!r}")
            self.outputs.append(_as_output(leaf, dtype))

    def pack(self, structure: Any, outputs: Any) -> Any:
        """The structure with other Outputs, and with TensorArrays that have those flows."""
        packed = [
            leaf.with_flow(output) if isinstance(leaf, TensorArray) else output
            for leaf, output in zip(self._leaves, outputs, strict=True)
        ]
        return nest.pack(structure, packed)


def _outputs_of(leaves: "Leaves | None") -> list[Output]:
    return [] if leaves is None else leaves.outputs


def _as_output(leaf: Any, dtype: Any) -> Output:
    if isinstance(leaf, TensorArray):
        return leaf.flow
    plain = dtype is not None and isinstance(leaf, (bool, int, float))
    return convert_to_tensor(leaf, dtype=dtype if plain else None)
