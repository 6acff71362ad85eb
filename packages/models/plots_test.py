"""The pictures are drawn, also at their edges."""

from pathlib import Path

import numpy as np

from qanat.models.plots import save_confusion_matrix, save_learning_curve, smoothed

PNG = b"\x89PNG\r\n\x1a\n"


def test_smoothing() -> None:
    np.testing.assert_allclose(smoothed([1.0, 3.0, 5.0], 2), [1, 2, 4])
    assert smoothed([], 2).size == 0


def test_a_learning_curve(tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    save_learning_curve(str(path), [1, 2, 3], [2.0, 1.0, 0.5], [0.1, 0.4, 0.8], [(3, 0.7)])
    assert path.read_bytes().startswith(PNG)


def test_a_learning_curve_without_steps(tmp_path: Path) -> None:
    path = tmp_path / "curve.png"
    save_learning_curve(str(path), [], [], [], [])
    assert path.read_bytes().startswith(PNG)


def test_a_confusion_matrix_with_an_empty_row(tmp_path: Path) -> None:
    path = tmp_path / "matrix.png"
    save_confusion_matrix(str(path), np.array([[3, 1], [0, 0]]), ["bag", "boot"])
    assert path.read_bytes().startswith(PNG)
