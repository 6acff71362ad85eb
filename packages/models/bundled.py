"""Where Bazel puts the data that programs come with."""

import os
from pathlib import Path


class DataError(Exception):
    """A data file is missing, corrupt or of another kind; the message names it and says why."""


def bundled_folder(repository: str, flag: str) -> Path:
    """The folder of an external repository with data.

    Args:
        repository: its name, as in `@fashion_mnist`.
        flag: by which a user can name other data.

    Raises:
        DataError: the program was not started by Bazel, or the data could not be had.
    """
    roots = [parent for parent in Path(__file__).parents if parent.name.endswith(".runfiles")]
    roots += [
        Path(os.environ[name]) for name in ("RUNFILES_DIR", "TEST_SRCDIR") if name in os.environ
    ]
    for root in roots:
        folder = root / repository
        missing = folder / "MISSING.txt"
        if missing.exists():
            raise DataError(missing.read_text().strip())
        if folder.is_dir():
            return folder
    raise DataError(f"expected {flag}: only a program started by Bazel finds the data by itself")
