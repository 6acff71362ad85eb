"""Watches the tasks that a session uses, and ends its steps where one is gone."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from qanat.core.errors import OpError, UnavailableError
from qanat.distributed_runtime.remote_task import RemoteTask

# A process that dies closes its connections at once; one that hangs, or a machine that vanishes, is
# noticed by its not answering.
_LOOK_S: Final = 0.1
_ASK_S: Final = 2.0


class HealthMonitor:
    """Calls `failed` once, with the first cause, when a task has died, hangs or was restarted."""

    def __init__(self, tasks: Sequence[RemoteTask], failed: Callable[[OpError], None]) -> None:
        self._tasks = [task for task in tasks if task.local is None]
        self._failed = failed
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="qanat_health", daemon=True)
        if self._tasks:
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _watch(self) -> None:
        ask = time.monotonic() + _ASK_S
        while not self._stopped.wait(_LOOK_S):
            try:
                self._look()
                if time.monotonic() >= ask:
                    for task in self._tasks:
                        task.check()
                    ask = time.monotonic() + _ASK_S
            except OpError as error:
                if not self._stopped.is_set():
                    self._failed(error)
                return

    def _look(self) -> None:
        for task in self._tasks:
            if task.connection is not None and not task.connection.is_open():
                raise UnavailableError(
                    f"expected {task.control.peer} to run, got its connection closed"
                )
