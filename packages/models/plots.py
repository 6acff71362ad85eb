"""Pictures of a training run, as PNG files. matplotlib is imported when the first is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qanat.models.idx import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SMOOTHED_STEPS = 50


def save_learning_curve(
    path: str,
    steps: Sequence[int],
    losses: Sequence[float],
    accuracies: Sequence[float],
    test_accuracies: Sequence[tuple[int, float]],
) -> None:
    """Draws loss and accuracy over the steps, each as the mean of the latest 50.

    Args:
        path: of the PNG file.
        steps: the numbers of the steps.
        losses: of each step's batch.
        accuracies: the same, in [0, 1].
        test_accuracies: (step, accuracy on the test images) after each epoch.
    """
    figure = _figure(9, 4)
    loss_axes, accuracy_axes = figure.subplots(1, 2)
    loss_axes.plot(steps, smoothed(losses, _SMOOTHED_STEPS), color="tab:blue")
    loss_axes.set(title="Training loss", xlabel="step", ylabel="cross-entropy, nats")
    loss_axes.set_ylim(bottom=0)
    accuracy_axes.plot(
        steps, 100 * smoothed(accuracies, _SMOOTHED_STEPS), color="tab:blue", label="training"
    )
    if test_accuracies:
        at, values = zip(*test_accuracies, strict=True)
        accuracy_axes.plot(at, 100 * np.array(values), "o-", color="tab:orange", label="test")
    accuracy_axes.set(title="Accuracy", xlabel="step", ylabel="%")
    accuracy_axes.legend(loc="lower right")
    for axes in (loss_axes, accuracy_axes):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def save_confusion_matrix(path: str, matrix: Array, classes: Sequence[str]) -> None:
    """Draws how often each class was taken for each.

    Args:
        path: of the PNG file.
        matrix: integers [classes, classes]; row = label, column = prediction.
        classes: their names.
    """
    figure = _figure(7.5, 6.5)
    axes = figure.subplots()
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(matrix):
        color = "white" if share[row, column] > 0.5 else "black"
        axes.text(column, row, f"{count}", ha="center", va="center", color=color, fontsize=8)
    ticks = range(len(classes))
    axes.set_xticks(ticks, classes, rotation=45, ha="right")
    axes.set_yticks(ticks, classes)
    accuracy = np.trace(matrix) / max(matrix.sum(), 1)
    axes.set(title=f"Test images: {accuracy:.2%} right", xlabel="predicted", ylabel="is")
    figure.colorbar(image, label="share of the row")
    figure.savefig(path, dpi=120)


def _figure(width: float, height: float) -> "Figure":
    """An empty figure of so many inches that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def smoothed(values: Sequence[float], length: int) -> Array:
    """Element i is the mean of up to `length` values that end at i."""
    sums = np.cumsum(np.concatenate([[0.0], np.asarray(values, np.float64)]))
    ends = np.arange(1, len(sums))
    starts = np.maximum(ends - length, 0)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
