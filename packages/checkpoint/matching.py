"""What of a checkpoint fits which variables."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from qanat.core.dtypes import DType
from qanat.core.shapes import TensorShape
from qanat.ops.variables import Variable

NameMap = Mapping[str, str] | Callable[[str], str]


class TensorReader(Protocol):
    """A file, or several, with named tensors."""

    def names(self) -> list[str]:
        """Of all tensors, sorted."""

    def shape(self, name: str) -> tuple[int, ...]: ...

    def dtype(self, name: str) -> DType: ...

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """A tensor's value; DataLossError where it is corrupt."""


@dataclass(frozen=True)
class Misfit:
    """A variable and a tensor that is found for it and is of another kind.

    Attributes:
        variable, tensor: their names.
        expected, found: dtype and shape of each.
    """

    variable: str
    tensor: str
    expected: str
    found: str


@dataclass(frozen=True)
class MatchReport:
    """What of a checkpoint fits some variables.

    Attributes:
        path: of the checkpoint.
        matched: the name of the tensor, by that of the variable.
        missing: variables for which there is no tensor.
        misfits: variables whose tensor has another dtype or shape.
        left_over: tensors that no variable asked for.
    """

    path: str
    matched: Mapping[str, str]
    missing: Sequence[str]
    misfits: Sequence[Misfit]
    left_over: Sequence[str]

    def __str__(self) -> str:
        lines = [
            f"{self.path}: {len(self.matched)} matched, {len(self.missing)} missing, "
            f"{len(self.misfits)} of another kind, {len(self.left_over)} left over"
        ]
        for variable, tensor in self.matched.items():
            lines.append(f"  = {variable}" + (f" <- {tensor}" if tensor != variable else ""))
        lines += [f"  - {variable}: missing" for variable in self.missing]
        lines += [
            f"  ! {m.variable} <- {m.tensor}: expected {m.expected}, got {m.found}"
            for m in self.misfits
        ]
        lines += [f"  + {tensor}: left over" for tensor in self.left_over]
        return "\n".join(lines)


def match(
    variables: Mapping[str, Variable],
    reader: TensorReader,
    path: str,
    name_map: NameMap | None = None,
    reshape: bool = False,
) -> MatchReport:
    """Looks for a tensor a variable.

    Args:
        variables: by name.
        reader: of the checkpoint.
        path: of the checkpoint, for the report.
        name_map: from a variable's name to that of its tensor, a map (names that are not in it stay
            as they are) or a function.
        reshape: whether the number of elements is enough of a shape.
    """
    present = set(reader.names())
    matched: dict[str, str] = {}
    missing: list[str] = []
    misfits: list[Misfit] = []
    asked = set()
    for name, variable in variables.items():
        tensor = _mapped(name, name_map)
        asked.add(tensor)
        if tensor not in present:
            missing.append(name)
            continue
        shape, dtype = reader.shape(tensor), reader.dtype(tensor)
        if dtype is variable.dtype and _fits(shape, variable, reshape):
            matched[name] = tensor
        else:
            expected = f"{variable.dtype} {variable.shape}"
            misfits.append(Misfit(name, tensor, expected, f"{dtype} {TensorShape(shape)}"))
    left_over = [tensor for tensor in reader.names() if tensor not in asked]
    return MatchReport(path, matched, missing, misfits, left_over)


def _mapped(name: str, name_map: NameMap | None) -> str:
    if name_map is None:
        return name
    return name_map.get(name, name) if isinstance(name_map, Mapping) else name_map(name)


def _fits(shape: tuple[int, ...], variable: Variable, reshape: bool) -> bool:
    if reshape and variable.shape.is_fully_defined():
        return variable.shape.num_elements() == math.prod(shape)
    return bool(variable.shape.is_compatible_with(shape))


def listed(names: Sequence[str]) -> str:
    """Names for a message: the first ten, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
