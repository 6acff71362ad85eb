"""The steps of one worker among several."""

from collections.abc import Callable, Iterator
from itertools import count

import qanat as qn
from qanat.models.classifier import Classifier
from qanat.models.dataset import Examples
from qanat.models.replica import Replica
from qanat.models.step_runner import require_finite
from qanat.models.training_loop import History


def train_replica(
    session: qn.Session,
    classifier: Classifier,
    examples: Examples,
    replica: Replica,
    *,
    until: int,
    batch_size: int,
    seed: int,
    save_every: int,
    save: Callable[[int], None],
    history: History,
) -> None:
    """Runs steps until the workers together have brought the global step to `until`.

    Of each epoch's batches a worker takes every n-th, where n is the number of workers.

    Args:
        session: with all variables initialized or restored.
        until: the global step to end at.
        save_every: how many global steps lie between calls of `save`, which only the chief makes.
        save: called with the global step.
        history: gets the measurements of each step.

    Raises:
        DivergedError: the loss is not finite.
    """
    # Read after the step: one that was late may have waited for several of the others', and were it
    # to take itself for an earlier one, it would wait for another when nobody steps any more.
    with session.graph.as_default(), qn.control_dependencies([classifier.train]):
        reached = classifier.global_step.read_value()
    run = session.prepare(
        [classifier.loss, classifier.correct, reached], [classifier.images, classifier.labels]
    )
    step = int(session.run(classifier.global_step))
    saved = step // save_every
    newest = None
    for batch in _share(examples, batch_size, seed, replica, step):
        if step >= until:
            break
        loss, correct, number = run(batch.images, batch.labels)
        step = int(number)
        require_finite(loss, step)
        history.steps.append(step)
        history.losses.append(float(loss))
        history.accuracies.append(int(correct) / batch_size)
        if replica.is_chief and step // save_every > saved:
            saved = step // save_every
            save(step)
            newest = step
    last = int(session.run(classifier.global_step))
    if replica.is_chief and last != newest:
        save(last)


def _share(
    examples: Examples, batch_size: int, seed: int, replica: Replica, step: int
) -> Iterator[Examples]:
    """This worker's batches, from about where the global step is."""
    batches = len(examples) // batch_size
    steps_before = step if replica.sync else step // replica.workers
    epoch, first = divmod(steps_before * replica.workers, batches)
    for number in count(epoch):
        skip = first if number == epoch else 0
        order = examples.shuffled_batches(batch_size, seed, number, skip=skip)
        for place, batch in enumerate(order, skip):
            if place % replica.workers == replica.index:
                yield batch
