"""How a run shows that it gets on: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Any, Self

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Shows step, loss, accuracy and images a second of one epoch, on stderr.

    Args:
        title: what goes on.
        steps: of the whole epoch.
        first: the step to start from.
    """

    def __init__(self, title: str, steps: int, first: int = 0) -> None:
        self._title = title
        self._steps = steps
        self._done = first
        self._images = 0
        self._started = self._last_line = time.monotonic()
        self._bar = _bar(title, steps, first) if sys.stderr.isatty() else None

    def update(self, images: int, loss: float, accuracy: float) -> None:
        """One step more is done, on so many images; loss and accuracy are shown as given."""
        self._done += 1
        self._images += images
        now = time.monotonic()
        rate = self._images / max(now - self._started, 1e-9)
        text = f"loss {loss:.4f}, accuracy {accuracy:.1%}, {rate:,.0f} images/s"
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
