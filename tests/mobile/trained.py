"""A classifier that has been trained for a while, for tests of what becomes of it on phones."""

from pathlib import Path
from typing import Any

import numpy as np

import qanat as qn
from qanat.mobile_runtime.export import Calibration, export_model, inference_step
from qanat.mobile_runtime.interpreter import probe
from qanat.mobile_runtime.model import Model
from qanat.models.classifier import images_placeholder, logits_of
from qanat.models.dataset import Examples
from qanat.models.networks import NETWORKS

BATCH = 500


class Trained:
    """A network after a few steps of training, and its graph."""

    def __init__(self, network: str, training: Examples, steps: int) -> None:
        self.images = images_placeholder()
        labels = qn.placeholder(qn.int32, [None])
        logits = logits_of(NETWORKS[network], self.images)
        self.classes = qn.argmax(logits, 1, output_type=qn.int32)
        loss = qn.losses.sparse_softmax_cross_entropy(labels, logits)
        train = qn.train.AdamOptimizer(0.001).minimize(loss)
        self.session = qn.Session()
        self.session.run(qn.global_variables_initializer())
        batches = training.shuffled_batches(64, seed=1, epoch=0)
        for _, batch in zip(range(steps), batches, strict=False):
            self.session.run(train, {self.images: batch.images, labels: batch.labels})

    def classify(self, test: Examples) -> Any:
        """What the session says of the test images: int32 [n]."""
        found = [
            self.session.run(self.classes, {self.images: batch.images})
            for batch in test.batches(BATCH)
        ]
        return np.concatenate(found)

    def step(self, quantise: Calibration | None) -> Any:
        return inference_step(
            self.session,
            {"images": self.images},
            {"classes": self.classes},
            batch_size=BATCH,
            quantise=quantise,
        )

    def export(self, path: Path, quantise: Calibration | None) -> Model:
        inputs, outputs = {"images": self.images}, {"classes": self.classes}
        return export_model(
            path, self.session, inputs, outputs, quantise=quantise, sharing=probe
        )
