"""Qanat's half of every bench runs and is reported; the peers need not be installed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("program", "bench"),
    [
        ("add_chain", "an_addition"),
        ("char_lm", "rows_16"),
        ("checkpoint_io", "save"),
        ("checkpoint_io", "restore"),
        ("cluster_step", "scalar_ps2_workers2"),
        ("cuda_launch", "host_only"),
        ("graph_construction", "layer"),
        ("import_time", "import"),
        ("lenet_step", "batch_64"),
        ("mlp_step", "batch_64"),
        ("mobile_latency", "batch_1"),
        ("tiny_run", "scalar_add"),
        ("while_loop", "an_iteration"),
    ],
)
def test_a_bench(program: str, bench: str) -> None:
    command = [sys.executable, "-m", f"tests.performance.{program}", bench]
    done = subprocess.run(
        [*command, "--only=Qanat", "--rounds=1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith(bench) and len(lines) > 1
    assert not any("could not run" in line for line in lines), done.stdout
