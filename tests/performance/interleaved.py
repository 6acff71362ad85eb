"""Measures the same work in several systems, turn by turn in one run, so that all see the same
machine.

A bench file defines *entrants*: functions, by label, that prepare the work in one system and return
a function that does it once. `main` starts one process an entrant, in the interpreter that has its
system, and lets them work in turns of about a quarter of a second each. The other processes sleep
meanwhile.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Work = Callable[[], Any]
_TURN_SECONDS = 0.25


@dataclass(frozen=True)
class Entrant:
    """One system's way to do the work.

    Attributes:
        prepare: makes everything ready and returns the function to be timed.
        is_peer: runs in the peers' virtual environment.
    """

    prepare: Callable[[], Work]
    is_peer: bool = True


def main(
    file: str,
    benches: Mapping[str, Mapping[str, Entrant]],
    per_call: int = 1,
    unit: str = "us",
    reports_seconds: bool = False,
) -> None:
    """Runs the benches named on the command line, by default all, and prints a table each.

    Args:
        file: the bench file.
        benches: entrants by label, by the name of the bench.
        per_call: how many units of work a call does, such as nodes of a chain.
        unit: of what is printed: "us" or "ms" for times, another for units of work a second.
        reports_seconds: the work itself returns how long it took.
    """
    module = "tests.performance." + Path(file).stem
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("bench", nargs="*", help=f"of {', '.join(benches)}")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each entrant")
    parser.add_argument("--threads", type=int, default=0, help="cores to run on, 0 for all")
    parser.add_argument("--only", help="entrants whose label holds this text")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    if options.serve:
        bench, label = options.serve
        _serve(benches[bench][label].prepare(), reports_seconds)
        return
    for name in options.bench or benches:
        entrants = {k: e for k, e in benches[name].items() if not options.only or options.only in k}
        command = ["-m", module, "--serve", name]
        _report(name, _measure(command, entrants, options.rounds), per_call, unit, entrants)


def _serve(work: Work, reports_seconds: bool) -> None:
    """Works a turn whenever a line on stdin says so; answers with the seconds a call took."""
    _seconds(work, 3, reports_seconds)
    calls = max(1, int(_TURN_SECONDS / max(_seconds(work, 3, reports_seconds), 1e-8)))
    print("ready", flush=True)
    for _ in sys.stdin:
        print(_seconds(work, calls, reports_seconds), flush=True)


def _seconds(work: Work, calls: int, reports_seconds: bool) -> float:
    if reports_seconds:
        return statistics.fmean(work() for _ in range(calls))
    start = time.perf_counter()
    for _ in range(calls):
        work()
    return (time.perf_counter() - start) / calls


def _measure(
    command: list[str], entrants: Mapping[str, Entrant], rounds: int
) -> dict[str, list[float]]:
    """Seconds a call, one number a round, by label; fewer where an entrant died."""
    processes = {label: _start([*command, label], e) for label, e in entrants.items()}
    times: dict[str, list[float]] = {label: [] for label in entrants}
    try:
        ready = {label: _answer(process) == "ready" for label, process in processes.items()}
        for _ in range(rounds):
            for label, process in processes.items():
                if ready[label]:
                    assert process.stdin is not None
                    process.stdin.write("go\n")
                    process.stdin.flush()
                    answer = _answer(process)
                    ready[label] = answer != ""  # else it has died
                    if ready[label]:
                        times[label].append(float(answer))
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return times


def _start(arguments: list[str], entrant: Entrant) -> "subprocess.Popen[str]":
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # They slow a current NumPy.
        environment.pop(name, None)
    root = str(Path(__file__).resolve().parents[2])
    path = [root] if entrant.is_peer else [root, *filter(None, sys.path)]
    return subprocess.Popen(
        [str(peers_python()) if entrant.is_peer else sys.executable, *arguments],
        env=environment | {"PYTHONPATH": os.pathsep.join(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if entrant.is_peer else None,
        text=True,
    )


def _answer(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def peers_python() -> Path:
    """The interpreter of the peers' virtual environment.

    Raises:
        SystemExit: there is none; the message says how to make it.
    """
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY")
    here = Path(root, "tests/performance") if root else Path(__file__).resolve().parent
    python = Path(os.environ.get("QANAT_PEERS", here / ".venv")) / "bin/python"
    if not python.exists():
        sys.exit(f"found no {python}: run tests/performance/peers.sh first")
    return python


def _report(
    bench: str,
    times: Mapping[str, list[float]],
    per_call: int,
    unit: str,
    entrants: Mapping[str, Entrant],
) -> None:
    scale = {"us": 1e6, "ms": 1e3}.get(unit)

    def shown(seconds: float) -> float:
        return per_call / seconds if scale is None else seconds * scale / per_call

    medians = {label: statistics.median(values) for label, values in times.items() if values}
    peers = {label: m for label, m in medians.items() if entrants[label].is_peer}
    best = min(peers, key=lambda label: peers[label]) if peers else None
    print(f"\n{bench}, {unit}: median (fastest - slowest) of the rounds; time over the best peer's")
    for label, values in times.items():
        if not values:
            print(f"  {label:34} could not run")
            continue
        ratio = f"{medians[label] / peers[best]:6.2f} x" if best else ""
        spread = f"({shown(min(values)):.3f} - {shown(max(values)):.3f})"
        print(f"  {label:34} {shown(medians[label]):10.3f} {spread:24} {ratio}")
    sys.stdout.flush()
