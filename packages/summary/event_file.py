"""Event files: what TensorBoard reads, a record an event."""

import itertools
import os
import socket
import time
from collections.abc import Iterator

from google.protobuf.message import DecodeError

from qanat.core.errors import DataLossError
from qanat.summary.event_pb2 import Event
from qanat.summary.record import framed, read_records

_VERSION = "brain.Event:2"
_numbers = itertools.count()


class EventFile:
    """A new event file in a folder, which is made if need be.

    Not for several threads at once.

    Args:
        folder: where to put it. Its name holds the time, the machine, the process and a number, so
            that no two are the same.
        suffix: of its name.

    Attributes:
        path: of the file.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, folder: str, suffix: str = "") -> None:
        os.makedirs(folder, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}"
        self.path = os.path.join(folder, f"{name}.{os.getpid()}.{next(_numbers)}{suffix}")
        self._file = open(self.path, "xb")
        self.write(Event(wall_time=now, file_version=_VERSION).SerializeToString())
        self.flush()

    def write(self, event: bytes) -> None:
        """Appends a serialized event."""
        self._file.write(framed(event))

    def flush(self) -> None:
        """Lets readers, and what comes after a crash of this process, see all of it."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Event]:
    """The events of a file, in order, the one with the file's version first.

    Raises:
        NotFoundError: there is no such file.
        DataLossError: it is corrupt, or no event file.
    """
    for record in read_records(path):
        try:
            yield Event.FromString(record)
        except DecodeError:
            raise DataLossError(
                f"[summary_iterator] {os.fspath(path)}: expected an event, got another record"
            ) from None
