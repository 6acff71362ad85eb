"""Trains a classifier epoch by epoch, and goes on exactly where an earlier run ended."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import qanat as qn
from qanat.models.classifier import Classifier
from qanat.models.dataset import CLASSES, Examples
from qanat.models.idx import Array
from qanat.models.progress import Progress
from qanat.models.step_runner import StepRunner


class DivergedError(Exception):
    """Training has left the numbers."""


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
    """Runs steps from the session's global step up to step `until`.

    Step s trains on batch s mod n of epoch s div n, where n is the number of whole batches, and the
    order of an epoch depends on (seed, epoch) only. So a run that is cut in two by a checkpoint
    does the same.

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
    batches = len(examples) // batch_size
    run = StepRunner(session, classifier, log, trace)
    step = int(session.run(classifier.global_step))
    while step < until:
        epoch, first = divmod(step, batches)
        last = min(batches, first + until - step)
        with Progress(f"epoch {epoch + 1}", last, first) as progress:
            order = examples.shuffled_batches(batch_size, seed, epoch, skip=first)
            for batch, _ in zip(order, range(first, last), strict=False):
                step += 1
                loss, correct = run(step, batch.images, batch.labels)
                if not np.isfinite(loss):
                    raise DivergedError(f"the loss is {loss} at step {step}: try a smaller rate")
                history.steps.append(step)
                history.losses.append(float(loss))
                history.accuracies.append(int(correct) / batch_size)
                progress.update(
                    batch_size,
                    float(np.mean(history.losses[-50:])),
                    float(np.mean(history.accuracies[-50:])),
                )
        after_epoch(step)


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
