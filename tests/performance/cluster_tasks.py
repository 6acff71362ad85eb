"""Clusters of processes on this machine, whose workers step when they are told to.

A task's program is `own_cluster` or a `peer_*_cluster`: called with a Place, a ps task serves, and
a worker calls `answer` with a function that does one step.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from tests.addresses import free_addresses
from tests.performance.interleaved import Entrant, Work

ROWS = 32  # that a sparse step fetches


@dataclass(frozen=True)
class Workload:
    """What a worker's step fetches from the ps tasks.

    Attributes:
        kind: "scalar": 4 bytes from each; "dense": a whole model; "sparse": ROWS rows of a table.
        ps, workers: how many tasks.
        megabytes: of the model or table, in equal parts on the ps tasks.
        steps: that a worker does in a row.
    """

    kind: str
    ps: int
    workers: int
    megabytes: int = 0
    steps: int = 20

    def floats(self) -> int:
        """The numbers on each ps task."""
        return 1 if self.kind == "scalar" else self.megabytes * 1_000_000 // 4 // self.ps


@dataclass(frozen=True)
class Place:
    """A task's place: its job and index, and who else there is."""

    job: str
    index: int
    cluster: dict[str, list[str]]
    workload: Workload

    @staticmethod
    def of(text: str) -> "Place":
        fields = json.loads(text)
        return Place(**fields | {"workload": Workload(**fields["workload"])})


def entrant(module: str, workload: Workload, is_peer: bool) -> Entrant:
    """A system's way to do the work, by the program of its tasks."""
    return Entrant(lambda: _start(module, workload), is_peer)


def _start(module: str, workload: Workload) -> Work:
    """Starts a cluster; a call has all workers do their steps and gives the seconds of one."""
    addresses = free_addresses(workload.ps + workload.workers)
    cluster = {"ps": addresses[: workload.ps], "worker": addresses[workload.ps :]}
    places = [Place(job, i, cluster, workload) for job in cluster for i in range(len(cluster[job]))]
    tasks = [_run(module, place) for place in places]
    workers = tasks[workload.ps :]
    for worker in workers:
        assert _line(worker) == "ready"

    def work() -> float:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return sum(float(_line(worker)) for worker in workers) / len(workers)

    return work


def _run(module: str, place: Place) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.performance.{module}", json.dumps(asdict(place))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _line(task: "subprocess.Popen[str]") -> str:
    assert task.stdout is not None
    return task.stdout.readline().strip()


def serve() -> None:
    """What a ps task does: nothing, until the process that started it is gone."""
    sys.stdin.read()
    os._exit(0)


def answer(step: Callable[[], Any], steps: int) -> None:
    """Does steps whenever a line on stdin says so, and answers with the seconds of one."""
    for _ in range(5):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        print((time.perf_counter() - start) / steps, flush=True)
    os._exit(0)
