"""The graph of an image classifier: prediction, evaluation and one step of training."""

from collections.abc import Callable

import qanat as qn
from qanat.models.dataset import CLASSES, SIDE

Model = Callable[[qn.Tensor, int], qn.Tensor]
MakeOptimizer = Callable[[qn.Tensor], "qn.train.Optimizer"]


def images_placeholder() -> qn.Tensor:
    """Images as the data set has them: uint8 [n, 28, 28]."""
    return qn.placeholder(qn.uint8, [None, SIDE, SIDE], name="images")


def logits_of(model: Model, images: qn.Tensor) -> qn.Tensor:
    """What a model makes of images [n, 28, 28] of whole numbers up to 255: float32 [n, classes]."""
    pixels = qn.cast(images, qn.float32) * (1 / 255)
    return model(qn.expand_dims(pixels, 3), len(CLASSES))


class Classifier:
    """Everything is added to the default graph.

    Args:
        model: (images float32 [n, 28, 28, 1] in [0, 1], number of classes) -> logits.
        optimizer: given the learning rate, a scalar.
        learning_rate: given the global step.

    Attributes:
        images: to be fed: uint8 [n, 28, 28].
        labels: to be fed: int32 [n].
        loss: mean cross-entropy in nats, a float32 scalar.
        correct: how many images were classified rightly, an int64 scalar.
        confusion: int64 [classes, classes]; row = label, column = prediction.
        global_step: counts the steps of training.
        optimizer: what makes them.
        train: one step.
        step_summary: loss, accuracy and learning rate of a step.
        weights_summary: histograms of the trainable variables.
    """

    def __init__(
        self, model: Model, optimizer: MakeOptimizer, learning_rate: Callable[..., qn.Tensor]
    ) -> None:
        self.images = images_placeholder()
        self.labels = qn.placeholder(qn.int32, [None], name="labels")
        logits = logits_of(model, self.images)
        self.loss = qn.losses.sparse_softmax_cross_entropy(self.labels, logits)
        predictions = qn.argmax(logits, 1, output_type=qn.int32)
        self.correct = qn.metrics.count_correct(self.labels, predictions)
        self.confusion = qn.metrics.confusion_matrix(self.labels, predictions, len(CLASSES))
        self.global_step = qn.train.create_global_step()
        rate = learning_rate(self.global_step)
        self.optimizer = optimizer(rate)
        self.train = self.optimizer.minimize(self.loss, self.global_step)
        images = qn.cast(qn.size(self.labels), qn.float32)
        self.step_summary = qn.summary.merge(
            [
                qn.summary.scalar("train/loss", self.loss),
                qn.summary.scalar("train/accuracy", qn.cast(self.correct, qn.float32) / images),
                qn.summary.scalar("train/learning_rate", rate),
            ]
        )
        self.weights_summary = qn.summary.merge(
            [
                qn.summary.histogram(f"weights/{variable.op.name}", variable)
                for variable in qn.trainable_variables()
            ]
        )
