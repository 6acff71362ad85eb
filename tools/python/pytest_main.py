"""Runs one test file under pytest the way Bazel wants a test run."""

import faulthandler
import os
import subprocess
import sys

import pytest


def preload_sanitizer() -> None:
    """Starts this program again with the sanitizer's library before all others, as it must be."""
    library = os.environ.pop("QANAT_PRELOAD", None)
    if not library:
        return
    path = subprocess.check_output(["gcc", "-print-file-name=" + library], text=True).strip()
    # The interpreter itself never frees all that it holds.
    os.environ.update(LD_PRELOAD=path, ASAN_OPTIONS="detect_leaks=0")
    os.execv(sys.executable, [sys.executable, *sys.argv])


def show_stacks_before_the_deadline() -> None:
    """Bazel kills a late test without a word; this prints where every thread hangs, then exits."""
    seconds = int(os.environ.get("TEST_TIMEOUT", "0"))
    if seconds:
        faulthandler.dump_traceback_later(max(1, seconds - 5), exit=True)


def options() -> list[str]:
    chosen = ["--import-mode=importlib", "-p", "no:cacheprovider", "--strict-markers"]
    chosen += ["--hypothesis-profile=ci", "-q"]
    if "XML_OUTPUT_FILE" in os.environ:
        chosen.append("--junitxml=" + os.environ["XML_OUTPUT_FILE"])
    if "TESTBRIDGE_TEST_ONLY" in os.environ:
        chosen += ["-k", os.environ["TESTBRIDGE_TEST_ONLY"]]
    return chosen


def run(path: str) -> None:
    """Runs the test file at this path below the runfiles' root, and exits with pytest's status."""
    preload_sanitizer()
    show_stacks_before_the_deadline()
    root = os.environ["RUNFILES_DIR"]
    if "TEST_TMPDIR" in os.environ:
        # Bazel empties this folder; what lies elsewhere would stay.
        scratch = os.environ["TEST_TMPDIR"]
        os.environ.update(TMPDIR=scratch, HYPOTHESIS_STORAGE_DIRECTORY=scratch)
    arguments = [*options(), "--rootdir=" + root, *sys.argv[1:], os.path.join(root, path)]
    status = pytest.main(arguments)
    if status == pytest.ExitCode.NO_TESTS_COLLECTED and "TESTBRIDGE_TEST_ONLY" in os.environ:
        status = pytest.ExitCode.OK
    sys.exit(status)
