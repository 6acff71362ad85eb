"""Runs single steps of training, and notes what else is asked for of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import qanat as qn

_TRACED_STEP = 10  # By then memory has been given out and caches are warm.


class DivergedError(Exception):
    """Training has left the numbers."""


def require_finite(loss: Any, step: int) -> None:
    """
    Raises:
        DivergedError: the loss of that step is not finite.
    """
    if not np.isfinite(loss):
        raise DivergedError(f"the loss is {loss} at step {step}: try a smaller rate")


class StepRunner:
    """A step of training is a call.

    Args:
        session: where the variables are.
        fetches: what a call returns, a list.
        feeds: what a call is given.
        summary: what the log gets of each step.
        log: if there is one.
        trace: file for the trace of the tenth step, as Chrome and Perfetto show it.
    """

    def __init__(
        self,
        session: qn.Session,
        fetches: Sequence[Any],
        feeds: Sequence[qn.Tensor],
        summary: qn.Tensor,
        log: "qn.summary.FileWriter | None" = None,
        trace: str | None = None,
    ) -> None:
        self._session = session
        self._log = log
        self._trace = trace
        self._steps = 0
        self._fetches = [*fetches] if log is None else [*fetches, summary]
        self._feeds = list(feeds)
        self._run = session.prepare(self._fetches, self._feeds)

    def __call__(self, step: int, *fed: Any) -> Any:
        """Runs step number `step`."""
        self._steps += 1
        if self._trace is not None and self._steps == _TRACED_STEP:
            values = self._traced(self._trace, fed)
        else:
            values = self._run(*fed)
        if self._log is None:
            return values
        *fetched, summary = values
        self._log.add_summary(summary, step)
        return fetched

    def _traced(self, path: str, fed: Sequence[Any]) -> Any:
        metadata = qn.RunMetadata()
        options = qn.RunOptions(trace_level=qn.RunOptions.FULL_TRACE)
        values = self._session.run(
            self._fetches, dict(zip(self._feeds, fed, strict=True)), options, metadata
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(qn.summary.chrome_trace(metadata))
        return values
