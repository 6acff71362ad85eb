"""Files of data: where Bazel puts those that programs come with, and what is in a file."""

import gzip
import os
import zlib
from pathlib import Path


class DataError(Exception):
    """A data file is missing, corrupt or of another kind; the message names it and says why."""


def bundled_folder(repository: str, flag: str) -> Path:
    """The folder of an external repository that holds data.

    Args:
        repository: its name, as in `@fashion_mnist`.
        flag: by which a user can name other data.

    Raises:
        DataError: the program was not started by Bazel, or Bazel could not get the data.
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


def read_file(path: str) -> bytes:
    """A file's contents, decompressed if it is compressed by gzip.

    Raises:
        DataError: the file cannot be read or decompressed.
    """
    try:
        with open(path, "rb") as file:
            contents = file.read()
        return gzip.decompress(contents) if contents[:2] == b"\x1f\x8b" else contents
    except EOFError as error:
        raise DataError(f"{path}: truncated: the compressed data ends too early") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: corrupt: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
