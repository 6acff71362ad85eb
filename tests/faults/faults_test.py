"""Faults, by name: each is done to a healthy job in the midst of its steps. Survivors tell which
task is gone and where it was, at once; the job that is started again goes on from the last
checkpoint and ends as well as one that nothing was done to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import qanat as qn
from qanat.models import synthetic
from tests.faults.job import AT_ONCE_S, Job, Task, checkpoints, eventually

LEARNED = 90.0  # percent


@dataclass(frozen=True)
class Fault:
    """Something that is done to a job.

    Attributes:
        victim: the task that it is done to.
        tellers: those that fail for it, and must say so.
        survivors: those that go on.
        flags: of the job.
    """

    name: str
    victim: Callable[[Job], Task]
    tellers: Callable[[Job], Sequence[Task]]
    survivors: Callable[[Job], Sequence[Task]]
    flags: tuple[str, ...] = ()


FAULTS = [
    Fault(
        "a ps task is killed",
        victim=lambda job: job.ps[1],
        tellers=lambda job: job.workers,
        survivors=lambda job: job.ps[:1],
    ),
    Fault(
        "a ps task is killed under workers that step together",
        victim=lambda job: job.ps[0],
        tellers=lambda job: job.workers,
        survivors=lambda job: job.ps[1:],
        flags=("--sync",),
    ),
    Fault(
        "a worker is killed on which the others wait",
        victim=lambda job: job.workers[1],
        tellers=lambda job: job.workers[:1],
        survivors=lambda job: job.ps,
        flags=("--sync",),
    ),
    Fault(
        "a worker is killed on which nobody waits",
        victim=lambda job: job.workers[1],
        tellers=lambda job: [],
        survivors=lambda job: [*job.ps, *job.workers[:1]],
    ),
]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    synthetic.write(folder, training=640, test=100)
    return str(folder)


def flags_of(data_dir: str, checkpoint_dir: Path, steps: int) -> list[str]:
    return [
        f"--data_dir={data_dir}",
        f"--checkpoint_dir={checkpoint_dir}",
        "--model=mlp",
        "--batch_size=16",
        "--optimizer=momentum",
        "--learning_rate=0.02",
        "--decay=1",
        "--save_steps=20",
        "--threads=1",
        f"--steps={steps}",
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault(fault: Fault, data_dir: str, tmp_path: Path) -> None:
    endless = [*flags_of(data_dir, tmp_path, steps=1_000_000), *fault.flags]
    with Job(2, 2, endless) as job:
        eventually(lambda: len(checkpoints(tmp_path)) >= 2, "a healthy job to save")
        killed = fault.victim(job).kill()
        for teller in fault.tellers(job):
            victim = fault.victim(job)
            told = teller.wait_for(f"{victim.name} at 127.0.0.1:")
            assert told - killed < AT_ONCE_S
            assert teller.end(10) == 1
        before = len(checkpoints(tmp_path))
        if job.workers[0] in fault.survivors(job):
            newest = checkpoints(tmp_path)[-1]
            eventually(lambda: checkpoints(tmp_path)[-1] != newest, "the chief to go on")
        assert all(task.process.poll() is None for task in fault.survivors(job)), before
    latest = qn.train.latest_checkpoint(str(tmp_path))  # the newest file may not be that yet
    assert latest is not None
    reached = int(latest.rpartition("-")[2])
    with Job(2, 2, [*flags_of(data_dir, tmp_path, reached + 100), *fault.flags]) as again:
        again.workers[0].wait_for(f"going on from {tmp_path}/mlp-{reached}")
        assert again.finish() >= LEARNED


def test_workers_that_step_together_learn_with_one_to_spare(data_dir: str, tmp_path: Path) -> None:
    flags = [*flags_of(data_dir, tmp_path, 100), "--sync", "--backup_workers=1"]
    with Job(1, 3, flags) as job:
        assert job.finish() >= LEARNED
        assert job.ps[0].process.poll() is None
