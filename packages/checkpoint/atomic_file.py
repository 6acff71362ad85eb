"""Files that appear whole or not at all, also after a crash of the machine."""

import contextlib
import os
from collections.abc import Iterator
from io import BufferedWriter, FileIO
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_EARLY_BYTES = 8 << 20


class _EarlyFile(FileIO):
    """A file whose bytes go to the disk while more of them are made, so that little is left to
    be waited for when it is synchronised."""

    _begun = 0

    def write(self, data: "ReadableBuffer") -> int:
        count = super().write(data)
        end = self.tell()
        if end - self._begun >= _EARLY_BYTES:
            # The system begins to write what it is told that nobody will read soon.
            os.posix_fadvise(
                self.fileno(), self._begun, end - self._begun, os.POSIX_FADV_DONTNEED
            )
            self._begun = end
        return count


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write, which becomes `path` at the end of the `with` block, on disk when that is
    left.

    Until then `path` is what it was before; it stays so if the block raises. The bytes go to a file
    of a name of its own in the same folder (`<path>.tempstate<process>`).
    """
    temporary = f"{path}.tempstate{os.getpid()}"
    try:
        with BufferedWriter(_EarlyFile(temporary, "wb")) as file:
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
