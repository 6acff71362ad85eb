"""A model as the phone runs it: nodes in order, values of known shapes, places in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qanat.core.dtypes import DType


@dataclass(frozen=True)
class ModelValue:
    """A tensor of the model.

    Attributes:
        name: such as "conv1/Relu:0".
        shape: always fully known.
        data: a constant; None: it lives in the arena.
        offset: into the arena, a multiple of 64; None for constants (and before planning).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    data: np.ndarray[Any, Any] | None = None
    offset: int | None = None


@dataclass(frozen=True)
class ModelNode:
    """One op.

    Attributes:
        inputs: indices into `Model.values`.
        outputs: likewise.
        attrs: as nodes of a StepGraph hold them: DType, TensorShape, int, float, bool, bytes or
            str, arrays, lists.
    """

    name: str
    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """What a model file holds.

    Attributes:
        nodes: in the order they run.
        inputs: from public name to index into `values`; all are in the arena.
        outputs: likewise; any value.
        arena_bytes: what the values without data need.
    """

    values: tuple[ModelValue, ...]
    nodes: tuple[ModelNode, ...]
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    arena_bytes: int = 0
