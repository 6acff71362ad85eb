"""Which checkpoints of a run stay: the latest, one every so often, and the best."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from qanat.checkpoint.best import Scored


@dataclass
class Retention:
    """Decides, whenever a checkpoint has been written, which ones are to go.

    Attributes:
        max_to_keep: how many of the latest stay; 0 for all.
        every_seconds: of those that would go, one stays for good every so often.
        best_to_keep: how many of the best by their metric stay, too.
        lower_is_better: what "best" means.
        started: when the run began, in seconds.
        latest: prefixes of the latest, the oldest first.
        best: the best, the best first.
    """

    max_to_keep: int
    every_seconds: float = math.inf
    best_to_keep: int = 0
    lower_is_better: bool = False
    started: float = 0.0
    latest: list[str] = field(default_factory=list)
    best: list[Scored] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._next_for_good = self.started + self.every_seconds
        self._written: dict[str, float] = {}

    def add(self, prefix: str, now: float, metric: float | None = None) -> list[str]:
        """Notes a new checkpoint, in the place of an earlier one of its name.

        Args:
            prefix: of the checkpoint.
            now: when it was written, in seconds.
            metric: how good it is, not NaN; None where nobody knows.

        Returns:
            The prefixes of those to remove.
        """
        self._written[prefix] = now
        self.latest = [path for path in self.latest if path != prefix] + [prefix]
        dropped = self._rank(prefix, metric)
        surplus = self.latest[: -self.max_to_keep] if self.max_to_keep else []
        self.latest = self.latest[len(surplus) :]
        ranked = {scored.path for scored in self.best}
        candidates = [path for path in surplus if path not in ranked]
        candidates += [path for path in dropped if path not in self.latest and path != prefix]
        return [path for path in candidates if not self._stays_for_good(path)]

    def recover(self, written: Mapping[str, float], best: Iterable[Scored] = ()) -> None:
        """Takes over the checkpoints of an earlier run: the latest, the oldest first, and when each
        was written; and the best, the best first."""
        self.latest, self.best = list(written), list(best)[: self.best_to_keep]
        self._written.update(written)

    def _rank(self, prefix: str, metric: float | None) -> list[str]:
        """Puts a checkpoint among the best; gives those that are no longer."""
        ranked = [scored for scored in self.best if scored.path != prefix]
        if metric is not None:
            ranked.append(Scored(prefix, metric))
        sign = 1 if self.lower_is_better else -1
        ranked.sort(key=lambda scored: sign * scored.metric)  # of equals the older one first
        self.best = ranked[: self.best_to_keep]
        return [scored.path for scored in ranked[self.best_to_keep :]]

    def _stays_for_good(self, path: str) -> bool:
        written = self._written.pop(path, None)
        if written is None or written <= self._next_for_good:
            return False
        self._next_for_good += self.every_seconds
        return True
