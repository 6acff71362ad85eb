"""Runs single steps of training, and notes what else is asked for of them."""

from typing import Any

import qanat as qn
from qanat.models.classifier import Classifier
from qanat.models.idx import Array

_TRACED_STEP = 10  # By then memory has been given out and caches are warm.


class StepRunner:
    """A step of training is a call.

    Args:
        session: where the variables are.
        classifier: of the session's graph.
        log: gets the summary of each step, if there is one.
        trace: file for the trace of the tenth step, as Chrome and Perfetto show it.
    """

    def __init__(
        self,
        session: qn.Session,
        classifier: Classifier,
        log: "qn.summary.FileWriter | None" = None,
        trace: str | None = None,
    ) -> None:
        self._session = session
        self._log = log
        self._trace = trace
        self._steps = 0
        self._fetches = [classifier.loss, classifier.correct, classifier.train]
        if log is not None:
            self._fetches.append(classifier.step_summary)
        self._feeds = [classifier.images, classifier.labels]
        self._run = session.prepare(self._fetches, self._feeds)

    def __call__(self, step: int, images: Array, labels: Array) -> tuple[Any, Any]:
        """Runs step number `step`; gives loss and number of images classified rightly."""
        self._steps += 1
        if self._trace is not None and self._steps == _TRACED_STEP:
            values = self._traced(self._trace, images, labels)
        else:
            values = self._run(images, labels)
        loss, correct, _, *summaries = values
        if self._log is not None:
            self._log.add_summary(summaries[0], step)
        return loss, correct

    def _traced(self, path: str, images: Array, labels: Array) -> Any:
        metadata = qn.RunMetadata()
        options = qn.RunOptions(trace_level=qn.RunOptions.FULL_TRACE)
        fed = dict(zip(self._feeds, (images, labels), strict=True))
        values = self._session.run(self._fetches, fed, options, metadata)
        with open(path, "w", encoding="utf-8") as file:
            file.write(qn.summary.chrome_trace(metadata))
        return values
