"""Trains a classifier, and evaluates it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import qanat as qn
from qanat.models.classifier import Classifier
from qanat.models.dataset import CLASSES, Examples
from qanat.models.epochs import run_epochs
from qanat.models.idx import Array
from qanat.models.step_runner import StepRunner


@dataclass
class History:
    """What a run measured.

    Attributes:
        steps, losses, accuracies: of each step's batch.
        tests: (step, accuracy on the test images).
    """

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    tests: list[tuple[int, float]] = field(default_factory=list)


def train(
    session: qn.Session,
    classifier: Classifier,
    examples: Examples,
    *,
    until: int,
    batch_size: int,
    seed: int,
    after_epoch: Callable[[int], None],
    history: History,
    log: "qn.summary.FileWriter | None" = None,
    trace: str | None = None,
) -> None:
    """Runs steps from the session's global step up to step `until`, as `run_epochs` says.

    The order of an epoch depends on (seed, epoch) only.

    Args:
        session: with all variables initialized or restored.
        classifier: of the session's graph.
        examples: at least batch_size of them.
        until: the global step to end at.
        batch_size: examples a step.
        seed: of the order of the examples.
        after_epoch: called with the global step after each epoch and at the end.
        history: gets the measurements of each step.
        log, trace: what else is noted of the steps, see StepRunner.

    Raises:
        DivergedError: the loss is not finite.
    """
    run = StepRunner(
        session,
        [classifier.loss, classifier.correct, classifier.train],
        [classifier.images, classifier.labels],
        classifier.step_summary,
        log,
        trace,
    )

    def feeds(epoch: int, first: int) -> Iterator[tuple[Array, Array]]:
        for batch in examples.shuffled_batches(batch_size, seed, epoch, skip=first):
            yield batch.images, batch.labels

    def note(step: int, fetched: Sequence[Any]) -> str:
        loss, correct, _ = fetched
        history.steps.append(step)
        history.losses.append(float(loss))
        history.accuracies.append(int(correct) / batch_size)
        recent = np.mean(history.losses[-50:]), np.mean(history.accuracies[-50:])
        return f"loss {recent[0]:.4f}, accuracy {recent[1]:.1%}"

    run_epochs(
        run,
        int(session.run(classifier.global_step)),
        until=until,
        batches=len(examples) // batch_size,
        feeds=feeds,
        note=note,
        after_epoch=after_epoch,
        size=batch_size,
        unit="images",
    )


def evaluate(
    session: qn.Session, classifier: Classifier, examples: Examples, batch_size: int
) -> Array:
    """The confusion matrix over all examples: int64 [classes, classes]; row = label, column =
    prediction.
    """
    run = session.prepare([classifier.confusion], [classifier.images, classifier.labels])
    total = np.zeros((len(CLASSES), len(CLASSES)), np.int64)
    for batch in examples.batches(batch_size):
        total += run(batch.images, batch.labels)[0]
    return total


def accuracy(confusion: Array) -> float:
    """The share of a confusion matrix's counts on its diagonal."""
    return float(np.trace(confusion) / max(confusion.sum(), 1))
