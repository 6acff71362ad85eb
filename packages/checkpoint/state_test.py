"""The file that says which checkpoint of a folder is the latest."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from qanat.checkpoint.bundle_writer import write_bundle
from qanat.checkpoint.state import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
    update_checkpoint_state,
)
from qanat.core.errors import DataLossError


def written(folder: Path, name: str) -> str:
    path = str(folder / name)
    write_bundle(path, {"x": np.zeros(1)})
    return path


def test_the_latest(tmp_path: Path) -> None:
    assert latest_checkpoint(str(tmp_path)) is None
    first, second = written(tmp_path, "model-1"), written(tmp_path, "model-2")
    update_checkpoint_state(str(tmp_path), second, [first, second])
    assert latest_checkpoint(str(tmp_path)) == second
    state = get_checkpoint_state(str(tmp_path))
    assert state is not None
    assert list(state.all_model_checkpoint_paths) == [first, second]


def test_the_folder_may_be_moved(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    update_checkpoint_state(str(folder), written(folder, "model-1"))
    shutil.move(folder, tmp_path / "b")
    assert latest_checkpoint(str(tmp_path / "b")) == str(tmp_path / "b" / "model-1")


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_bundle("model-1", {"x": np.zeros(1)})
    update_checkpoint_state("", "model-1")
    assert latest_checkpoint("") == "model-1"
    assert latest_checkpoint(".") == os.path.join(".", "model-1")


def test_a_checkpoint_that_is_gone(tmp_path: Path) -> None:
    update_checkpoint_state(str(tmp_path), str(tmp_path / "model-1"))
    assert not checkpoint_exists(str(tmp_path / "model-1"))
    assert latest_checkpoint(str(tmp_path)) is None


def test_a_corrupt_file(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("model_checkpoint_path: 3")
    with pytest.raises(DataLossError, match="checkpoint is corrupt"):
        latest_checkpoint(str(tmp_path))
