"""Sums test runs: prints `N passed, N failed`, and fails unless all passed.

Reads the event files that Bazel writes.

usage: sum_results.py FILE.json...
"""

import json
import pathlib
import sys


def outcomes(file: pathlib.Path) -> dict[str, bool]:
    """Whether each test of one run passed."""
    passed = {}
    for line in file.read_text().splitlines():
        event = json.loads(line)
        if "testSummary" in event:
            label = event["id"]["testSummary"]["label"]
            passed[label] = event["testSummary"]["overallStatus"] in ("PASSED", "FLAKY")
        elif "testSummary" in event["id"] and "aborted" in event:
            passed[event["id"]["testSummary"]["label"]] = False
    return passed


def main(files: list[str]) -> int:
    results = []
    for file in map(pathlib.Path, files):
        run = outcomes(file)
        results += run.values()
        for label in sorted(label for label, passed in run.items() if not passed):
            print(f"failed: {file.stem} {label}")
    failed = results.count(False)
    print(f"{results.count(True)} passed, {failed} failed")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
