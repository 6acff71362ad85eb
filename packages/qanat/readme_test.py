"""The programs of README.md do what it says: each runs by itself, in an empty folder."""

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qanat

README = Path(__file__).parents[2] / "README.md"
DEADLINE_SECONDS = 60
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def title(program: str) -> str:
    return max(re.findall(r"qn\.([\w.]+)", program), key=len)


@pytest.mark.parametrize("program", PROGRAMS, ids=title)
def test_program(program: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_part_is_shown() -> None:
    shown = re.findall(r"^\*\*(.*?)\*\*", README.read_text(), re.MULTILINE)
    parts = {module.name for module in pkgutil.iter_modules(qanat.__path__) if module.ispkg}
    assert parts == {name for names in shown for name in names.split(", ")}
