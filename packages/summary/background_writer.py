"""Writes events on a thread of its own, so that training does not wait for the disk."""

import queue
import threading
import time
from collections.abc import Callable

from qanat.summary.event_file import EventFile


class BackgroundWriter:
    """Takes events from any thread and writes them to a file in order.

    Args:
        open_file: makes the file.
        max_queue: how many events may wait; a thread that adds one more waits until there is room.
        flush_secs: how long an event may wait before readers of the file see it.

    A file that cannot be written makes no thread wait: what follows is dropped, and every later
    call raises the first error.
    """

    def __init__(
        self, open_file: Callable[[], EventFile], max_queue: int, flush_secs: float
    ) -> None:
        self._file = open_file()
        self._flush_secs = flush_secs
        # Serialized events; an Event of a thread that waits for the ones before; None for the end.
        self._queue: queue.Queue[bytes | threading.Event | None] = queue.Queue(max(1, max_queue))
        self._lock = threading.Lock()  # Nothing is put after the end.
        self._closed = False
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._work, name="qanat-summary", daemon=True)
        self._thread.start()

    def add(self, event: bytes) -> None:
        """Adds a serialized event.

        Raises:
            OSError: an earlier one could not be written.
            ValueError: this is closed.
        """
        self._raise_error()
        with self._lock:
            self._require_open()
            self._queue.put(event)

    def flush(self) -> None:
        """Returns once all that was added before is in the file; raises as `add` does."""
        done = threading.Event()
        with self._lock:
            self._require_open()
            self._queue.put(done)
        done.wait()
        self._raise_error()

    def close(self) -> None:
        """Returns once all that was added is in the file, and closes it; a second time is a no-op.

        Raises:
            OSError: something could not be written.
        """
        with self._lock:
            first = not self._closed
            self._closed = True
            if first:
                self._queue.put(None)
        if first:
            self._thread.join()
            self._raise_error()

    def _require_open(self) -> None:
        if self._closed:
            raise ValueError("[FileWriter] expected an open writer, got a closed one")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        next_flush: float | None = None  # None while there is nothing to flush
        while True:
            wait = None if next_flush is None else max(0.0, next_flush - time.monotonic())
            try:
                item = self._queue.get(timeout=wait)
            except queue.Empty:
                self._try(self._file.flush)
                next_flush = None
                continue
            if item is None:
                self._try(self._file.close)
                return
            if isinstance(item, threading.Event):
                self._try(self._file.flush)
                next_flush = None
                item.set()
                continue
            self._write(item)
            if next_flush is None:
                next_flush = time.monotonic() + self._flush_secs
            elif time.monotonic() >= next_flush:
                self._try(self._file.flush)
                next_flush = None

    def _write(self, event: bytes) -> None:
        if self._error is None:
            self._try(lambda: self._file.write(event))

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as error:
            self._error = self._error or error
