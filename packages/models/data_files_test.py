"""Data is found where Bazel puts it, or the user hears why there is none."""

from pathlib import Path

import pytest

from qanat.models.data_files import DataError, bundled_folder


@pytest.fixture
def runfiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("qanat.models.data_files.__file__", str(tmp_path / "data_files.py"))
    monkeypatch.setenv("RUNFILES_DIR", str(tmp_path / "runfiles"))
    monkeypatch.delenv("TEST_SRCDIR", raising=False)
    (tmp_path / "runfiles" / "words").mkdir(parents=True)
    return tmp_path / "runfiles"


def test_a_folder(runfiles: Path) -> None:
    assert bundled_folder("words", "--words") == runfiles / "words"


def test_data_that_could_not_be_had(runfiles: Path) -> None:
    (runfiles / "words/MISSING.txt").write_text("Words were not found: no network\nUse --words.\n")
    with pytest.raises(DataError, match="^Words were not found: no network\nUse --words.$"):
        bundled_folder("words", "--words")


def test_a_program_that_bazel_did_not_start(runfiles: Path) -> None:
    with pytest.raises(DataError, match="expected --numbers: only a program started by Bazel"):
        bundled_folder("numbers", "--numbers")
