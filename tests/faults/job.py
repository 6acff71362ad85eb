"""A training job of several processes on this machine, to do things to."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.addresses import free_addresses

# Within which a task's end is told elsewhere. It takes some tens of milliseconds, most of it to
# print an exception.
AT_ONCE_S: Final = 1.0
_START_S: Final = 120.0  # of several processes at once, on a machine that has other things to do
_ACCURACY: Final = re.compile(r"test accuracy ([\d.]+)%")


class Task:
    """One process, and the lines it has written.

    Attributes:
        name: as errors name it, "/job:ps/task:0".
        address: where it serves.
    """

    def __init__(self, name: str, address: str, command: Sequence[str]) -> None:
        self.name, self.address = name, address
        self.lines: list[str] = []
        self._arrived: queue.Queue[tuple[float, str]] = queue.Queue()
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self._arrived.put((time.monotonic(), line))

    def wait_for(self, text: str, timeout_s: float = _START_S) -> float:
        """When the task writes a line with that text, if it has not yet.

        Raises:
            AssertionError: it ends first, or takes too long.
        """
        until = time.monotonic() + timeout_s
        while True:
            try:
                when, line = self._arrived.get(timeout=0.05)
                if text in line:
                    return when
            except queue.Empty:
                ended = self.process.poll() is not None
                assert not ended and time.monotonic() < until, (
                    f"expected {self.name} to write {text!r}, got:\n{''.join(self.lines)}"
                )

    def kill(self) -> float:
        """Ends it as a power cut would; returns when."""
        self.process.send_signal(signal.SIGKILL)
        when = time.monotonic()
        self.process.wait()
        return when

    def end(self, timeout_s: float = _START_S) -> int:
        """Waits for its end: its status."""
        return self.process.wait(timeout_s)


class Job:
    """The tasks of a cluster that trains; `stop` or a `with` block ends all that run.

    Attributes:
        ps, workers: the tasks.
    """

    def __init__(self, ps: int, workers: int, flags: Sequence[str]) -> None:
        addresses = free_addresses(ps + workers)
        cluster = [
            f"--ps_hosts={','.join(addresses[:ps])}",
            f"--worker_hosts={','.join(addresses[ps:])}",
        ]
        self._command = [sys.executable, "-m", "qanat.models.fashion_mnist", *cluster, *flags]
        self.ps = [self._start("ps", i, addresses[i]) for i in range(ps)]
        self.workers = [self._start("worker", i, addresses[ps + i]) for i in range(workers)]

    def _start(self, job: str, index: int, address: str) -> Task:
        place = [f"--job_name={job}", f"--task_index={index}"]
        return Task(f"/job:{job}/task:{index}", address, [*self._command, *place])

    def finish(self) -> float:
        """Waits for all workers to end well: the accuracy the chief told last, in percent."""
        for worker in self.workers:
            assert worker.end() == 0, "".join(worker.lines)
        time.sleep(0.1)  # for the last line
        found = _ACCURACY.findall("".join(self.workers[0].lines))
        assert found, "".join(self.workers[0].lines)
        return float(found[-1])

    def stop(self) -> None:
        for task in (*self.workers, *self.ps):
            if task.process.poll() is None:
                task.kill()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def checkpoints(folder: Path) -> list[str]:
    """The checkpoints in a folder, the oldest first."""
    found = [path.stem for path in folder.glob("*.index")]
    return sorted(found, key=lambda name: int(name.rpartition("-")[2]))


def eventually(condition: Callable[[], bool], what: str, timeout_s: float = _START_S) -> None:
    """Waits until a condition holds.

    Raises:
        AssertionError: it does not in time.
    """
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until, f"expected {what} within {timeout_s} s"
        time.sleep(0.02)
