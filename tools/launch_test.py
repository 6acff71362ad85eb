"""Tests of tools/launch, by programs that say what they were given."""

import os
import pathlib
import subprocess
import sys

import pytest

LAUNCH = pathlib.Path(os.environ["RUNFILES_DIR"], "tools/launch")

# A task serves at its address, as one of a cluster would; the first worker ends as it is told to.
TASK = f"""#!{sys.executable}
import argparse, socket, sys, time

parser = argparse.ArgumentParser()
for flag in ("job_name", "ps_hosts", "worker_hosts"):
    parser.add_argument("--" + flag)
for flag in ("task_index", "status"):
    parser.add_argument("--" + flag, type=int, default=0)
told = parser.parse_args()
hosts = {{"ps": told.ps_hosts, "worker": told.worker_hosts}}
print(told.ps_hosts, told.worker_hosts, flush=True)


def address(text):
    host, _, port = text.partition(":")
    return host, int(port)


with socket.create_server(address(hosts[told.job_name].split(",")[told.task_index])):
    if told.job_name == "ps" or (told.status and told.task_index):
        time.sleep(600)
    for other in told.ps_hosts.split(","):  # await it, and what it has said
        while True:
            try:
                socket.create_connection(address(other), timeout=60).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
sys.exit(told.status)
"""


@pytest.fixture
def program(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "task"
    made.write_text(TASK)
    made.chmod(0o755)
    return made


def launch(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(LAUNCH), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_each_task_is_told_its_place(program: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = launch("--ps=2", "--workers=3", f"--log_dir={tmp_path}/logs", program)
    assert (done.returncode, done.stderr) == (0, "")
    lines = sorted(line.split() for line in done.stdout.splitlines())
    assert [line[0] for line in lines] == [
        "[ps:0]",
        "[ps:1]",
        "[worker:0]",
        "[worker:1]",
        "[worker:2]",
    ]
    ((ps, workers),) = {tuple(line[1:]) for line in lines}
    assert len({*ps.split(","), *workers.split(",")}) == 5
    assert (tmp_path / "logs/worker:2.log").read_text() == f"{ps} {workers}\n"


def test_a_worker_that_fails_ends_the_run(program: pathlib.Path) -> None:
    done = launch("--ps=1", "--workers=2", program, "--", "--status=7")
    assert done.returncode == 7
    assert done.stderr == "launch: worker:0 has failed with status 7\n"


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--ps=1", "absent: No such file or directory"),
        ("--workers=0", "expected 1 or more, got '0'"),
        ("--ps=-1", "expected 0 or more, got '-1'"),
    ],
)
def test_what_cannot_be_started(flag: str, message: str, tmp_path: pathlib.Path) -> None:
    done = launch(flag, tmp_path / "absent")
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
