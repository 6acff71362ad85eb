"""`kill -9` at random moments of saving: no checkpoint is lost, and none is seen in part.

A process restores the latest checkpoint, trains (adds one to all variables) and saves, over and
over, reporting each save; it is killed, and what is on disk is judged; the next one goes on. The
processes are forks of this one, so a round costs little more than it runs.
"""

import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from qanat.checkpoint import Saver, get_checkpoint_state, latest_checkpoint
from qanat.checkpoint.bundle_reader import BundleReader
from qanat.core.base_ops import group
from qanat.core.graph import Graph, device
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.ops.variables import Variable, global_variables_initializer

ROUNDS = int(os.environ.get("QANAT_KILLS", "20"))
LONGEST_RUN_SECONDS = 0.3
DEADLINE_SECONDS = 60
SIZES = (1, 1000, 300_000, 7)

MODES = {
    "one file a step": (False, True),
    "one file, replaced each time": (False, False),
    "two shards a step": (True, True),
    "two shards, replaced each time": (True, False),
}


def train_and_save(folder: Path, sharded: bool, numbered: bool, report: int) -> None:
    """Until it is killed. Reports each step that is saved, one byte string a line."""
    with Graph().as_default(), Session(config=SessionConfig(threads=1)) as session:
        variables = []
        for i, size in enumerate(SIZES):
            with device("/cpu:0" if i % 2 else "/job:localhost/task:0"):
                variables.append(Variable(np.zeros(size, np.int64), name=f"v{i}"))
        train = group(*(v.assign_add(np.ones(v.shape.as_list(), np.int64)) for v in variables))
        saver = Saver(sharded=sharded, max_to_keep=3)
        session.run(global_variables_initializer())
        latest = latest_checkpoint(str(folder))
        if latest:
            saver.restore(session, latest)
            state = get_checkpoint_state(str(folder))
            assert state is not None
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        while True:
            session.run(train)
            step = int(session.run(variables[0])[0])
            saver.save(session, folder / "model", step if numbered else None)
            os.write(report, f"{step}\n".encode())


def run_and_kill(work: Callable[[int], None], seconds: float) -> list[int]:
    """Forks a process that works, and kills it after its first report and some more time.

    Returns:
        The steps that it reported.
    """
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reads)
        try:
            work(writes)
        except BaseException as error:
            print(f"the process failed: {error!r}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    os.close(writes)
    with open(reads, "rb") as reports:
        started, _, _ = select.select([reports], [], [], DEADLINE_SECONDS)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        assert started and os.WIFSIGNALED(status), "the process ended by itself, or hung"
        lines = reports.read().split(b"\n")
    return [int(line) for line in lines[:-1]]


def step_of(path: str) -> int:
    """The step a checkpoint is of; all its tensors say the same."""
    reader = BundleReader(path)
    assert reader.names() == [f"v{i}" for i in range(len(SIZES))]
    values = [reader.read(name) for name in reader.names()]
    assert [value.size for value in values] == list(SIZES)
    steps = {int(step) for value in values for step in np.unique(value)}
    assert len(steps) == 1, f"{path} holds several steps: {sorted(steps)}"
    return steps.pop()


@pytest.mark.parametrize("mode", MODES)
def test_no_moment_to_die_is_bad(tmp_path: Path, mode: str) -> None:
    sharded, numbered = MODES[mode]
    moments = random.Random(mode)
    last = 0
    for _ in range(ROUNDS):
        reported = run_and_kill(
            lambda report: train_and_save(tmp_path, sharded, numbered, report),
            moments.uniform(0, LONGEST_RUN_SECONDS),
        )
        assert reported[0] == last + 1  # It went on from what was judged below.
        latest = latest_checkpoint(str(tmp_path))
        assert latest is not None
        visible = [str(path.with_suffix("")) for path in tmp_path.glob("*.index")]
        steps = {path: step_of(path) for path in visible}
        last = steps[latest]
        assert last in (reported[-1], reported[-1] + 1)
        assert max(steps.values()) in (last, last + 1)
