"""Steps of training, epoch by epoch, from wherever an earlier run ended."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from qanat.models.progress import Progress
from qanat.models.step_runner import StepRunner, require_finite


def run_epochs(
    run: StepRunner,
    step: int,
    *,
    until: int,
    batches: int,
    feeds: Callable[[int, int], Iterable[Sequence[Any]]],
    note: Callable[[int, Sequence[Any]], str],
    after_epoch: Callable[[int], None],
    size: int,
    unit: str,
) -> None:
    """Runs the steps after `step` up to `until`.

    Step s trains on batch s mod n of epoch s div n, where n is the number of batches: a run that is
    cut in two by a checkpoint does the same.

    Args:
        run: fetches the loss first.
        step: the global step that is done already.
        until: the global step to end at.
        batches: of an epoch.
        feeds: given an epoch and a first batch, what to feed for each batch from there on.
        note: given a step and what was fetched, says how it went.
        after_epoch: called with the global step after each epoch and at the end.
        size, unit: what a batch has, to show how fast they go by.

    Raises:
        DivergedError: the loss is not finite.
    """
    while step < until:
        epoch, first = divmod(step, batches)
        last = min(batches, first + until - step)
        with Progress(f"epoch {epoch + 1}", last, first, unit) as progress:
            for fed, _ in zip(feeds(epoch, first), range(first, last), strict=False):
                step += 1
                fetched = run(step, *fed)
                require_finite(fetched[0], step)
                progress.update(size, note(step, fetched))
        after_epoch(step)
