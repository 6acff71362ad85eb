"""The ranges of a model's values, measured on examples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from qanat.core import dtypes
from qanat.core.passes.step_graph import Ref, StepGraph
from qanat.core.session_config import SessionConfig
from qanat.core.target import CompiledStep, LocalTarget
from qanat.mobile_runtime.freeze import Frozen

Array = np.ndarray[Any, Any]
Range = tuple[float, float]

_BINS: Final = 2048


@dataclass(frozen=True)
class Calibration:
    """Examples that are typical of what a model will see.

    Attributes:
        examples: by the public names of all inputs, arrays [n, ...] of as many examples each; what
            does not fill a batch is left out.
        percentile: of the values that lie within the range of a tensor; 100 for all of them. Less
            cuts off outliers, which makes the steps of the others finer.
    """

    examples: Mapping[str, Array]
    percentile: float = 100.0

    def __post_init__(self) -> None:
        if not 50 < self.percentile <= 100:
            raise ValueError(
                f"[Calibration] expected a percentile from 50 to 100, got {self.percentile}"
            )
        lengths = {name: len(values) for name, values in self.examples.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"[Calibration] expected as many examples of each, got {lengths}")


def measure(frozen: Frozen, calibration: Calibration) -> dict[Ref, Range]:
    """The least and the largest value of each float32 tensor that the step computes or is fed.

    Raises:
        ValueError: the examples are not those of the model's inputs, fill no batch, or give a value
            that is not finite.
    """
    step = frozen.step
    refs = [
        Ref(node.name, port)
        for node in step
        for port, dtype in enumerate(node.dtypes)
        if dtype is dtypes.float32 and node.op != "Const"
    ]
    batches = _batches(frozen, calibration)
    run = _compiled(step, refs)
    ranges = {ref: (np.inf, -np.inf) for ref in refs}
    for batch in batches:
        for ref, value in zip(refs, run.run(batch), strict=True):
            if not np.isfinite(value).all():
                raise ValueError(
                    f"[Calibration] expected finite values, got others of {_shown(frozen, ref)}"
                )
            if value.size:
                low, high = ranges[ref]
                ranges[ref] = (min(low, float(value.min())), max(high, float(value.max())))
    found = {ref: r if r[0] <= r[1] else (0.0, 0.0) for ref, r in ranges.items()}
    if calibration.percentile == 100:
        return found
    return _within(run, refs, batches, found, calibration.percentile)


def _shown(frozen: Frozen, ref: Ref) -> str:
    """A value as its model's user knows it."""
    names = dict(zip(frozen.step.feeds, frozen.inputs, strict=True))
    return f"the input {names[ref.node]!r}" if ref.node in names else f"'{ref}'"


def _batches(frozen: Frozen, calibration: Calibration) -> list[list[Array]]:
    """The examples as the step is fed them."""
    examples = calibration.examples
    if set(examples) != set(frozen.inputs):
        raise ValueError(
            f"[Calibration] expected examples of {', '.join(sorted(frozen.inputs))}, got "
            f"{', '.join(sorted(examples)) or 'none'}"
        )
    columns = [
        list(_parts(frozen, feed, np.asarray(examples[name]), name))
        for name, feed in zip(frozen.inputs, frozen.step.feeds, strict=True)
    ]
    batches = [list(row) for row in zip(*columns, strict=True)]
    if not batches:
        raise ValueError("[Calibration] expected enough examples for a batch, got fewer")
    return batches


def _parts(frozen: Frozen, feed: str, values: Array, name: str) -> Iterator[Array]:
    node = frozen.step.nodes[feed]
    dims = node.shapes[0].known_dims()
    size = dims[0] if dims else None
    if size is None or values.shape[1:] != dims[1:]:
        shown = ("n", *dims[1:])
        raise ValueError(
            f"[Calibration] expected examples of {name!r} of shape [{','.join(map(str, shown))}], "
            f"got {list(values.shape)}"
        )
    if values.dtype != node.dtypes[0].as_numpy:
        raise ValueError(
            f"[Calibration] expected examples of {name!r} of {node.dtypes[0]}, got {values.dtype}"
        )
    for start in range(0, len(values) - size + 1, max(size, 1)):
        yield np.ascontiguousarray(values[start : start + size])


def _compiled(step: StepGraph, refs: Sequence[Ref]) -> CompiledStep:
    fetching = StepGraph(step.nodes, step.feeds, tuple(refs))
    return LocalTarget(SessionConfig(optimise=False)).compile(fetching)[1]


def _within(
    run: CompiledStep,
    refs: Sequence[Ref],
    batches: Sequence[list[Array]],
    ranges: Mapping[Ref, Range],
    percentile: float,
) -> dict[Ref, Range]:
    """The narrowest ranges that leave (100 - percentile) / 2 percent of the values out at each end,
    as far as a histogram tells. Runs the examples again."""
    counts = {ref: np.zeros(_BINS, np.int64) for ref in refs}
    for batch in batches:
        for ref, value in zip(refs, run.run(batch), strict=True):
            if ranges[ref][0] < ranges[ref][1]:
                counts[ref] += np.histogram(value, _BINS, ranges[ref])[0]
    return {ref: _cut(counts[ref], ranges[ref], percentile) for ref in refs}


def _cut(counts: Array, whole: Range, percentile: float) -> Range:
    total = counts.sum()
    if total == 0:
        return whole
    below = np.cumsum(counts) / total
    outside = (100 - percentile) / 200
    first = int(np.searchsorted(below, outside, side="right"))
    last = int(np.searchsorted(below, 1 - outside, side="left"))
    edges = np.linspace(*whole, _BINS + 1)
    return float(edges[first]), float(edges[min(last, _BINS - 1) + 1])
