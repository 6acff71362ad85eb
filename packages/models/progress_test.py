"""Where there is no terminal, progress is a line at the end and now and then."""

import pytest

from qanat.models.progress import Progress


def test_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("epoch 1", 3, 1, "images") as progress:
        progress.update(64, "loss 2.0")
        progress.update(64, "loss 1.5")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("epoch 1: step 3/3, loss 1.5, ")
    assert line.endswith(" images/s")
