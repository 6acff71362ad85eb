"""Files that appear whole or not at all, also after a crash of the machine."""

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` at the end of the `with` block, on disk when that is
    left.

    Until then `path` is what it was before; it stays so if the block raises. The bytes go to a file
    of a name of its own in the same folder (`<path>.tempstate<process>`).
    """
    temporary = f"{path}.tempstate{os.getpid()}"
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(folder: str) -> None:
    """Puts the names in a folder on disk: a rename alone may be lost."""
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
