"""How a run shows that it gets on: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any, Self

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows the steps of one epoch, how they went and how fast, on stderr.

    Args:
        title: what goes on.
        steps: of the whole epoch.
        first: the step to start from.
        unit: what steps go through.
    """

    def __init__(self, title: str, steps: int, first: int, unit: str) -> None:
        self._title = title
        self._steps = steps
        self._done = first
        self._unit = unit
        self._count = 0
        self._started = self._last_line = time.monotonic()
        self._bar = _bar(title, steps, first) if sys.stderr.isatty() else None

    def update(self, count: int, shown: str) -> None:
        """One step more is done, on so many units; `shown` says how it went."""
        self._done += 1
        self._count += count
        now = time.monotonic()
        rate = self._count / max(now - self._started, 1e-9)
        text = f"{shown}, {rate:,.0f} {self._unit}/s"
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update()
        elif self._done == self._steps or now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(f"{self._title}: step {self._done}/{self._steps}, {text}", file=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(title: str, steps: int, first: int) -> Any:
    from tqdm import tqdm

    return tqdm(total=steps, initial=first, desc=title, unit="step", dynamic_ncols=True)
