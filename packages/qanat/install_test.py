"""The wheels, installed into a fresh environment as a user would."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

WHEELS = sorted(pathlib.Path(__file__).parent.parent.glob("*/*.whl"))

# An installation of the CPU distribution, without what it requires.
MAX_INSTALLED_BYTES = 40_000_000


def wheel(distribution: str) -> pathlib.Path:
    (found,) = [w for w in WHEELS if w.name.split("-")[0] == distribution.replace("-", "_")]
    return found


def metadata(path: pathlib.Path) -> str:
    with zipfile.ZipFile(path) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        return archive.read(name).decode()


class Environment:
    """A virtual environment with some wheels, and what they require on PYTHONPATH."""

    def __init__(self, folder: pathlib.Path, *distributions: str) -> None:
        base = sys._base_executable  # type: ignore[attr-defined]
        subprocess.run([base, "-m", "venv", "--without-pip", folder], check=True)
        self.python = folder / "bin/python"
        (site,) = folder.glob("lib/python*/site-packages")
        for distribution in distributions:
            # The sandbox has no pip; wheels without scripts are installed by unpacking them.
            with zipfile.ZipFile(wheel(distribution)) as archive:
                archive.extractall(site)

    def run(self, code: str) -> str:
        required = [path for path in sys.path if "/pypi/site/" in path]
        environment = {"PYTHONPATH": os.pathsep.join(required)}
        command = [str(self.python), "-c", code]
        return subprocess.check_output(command, env=environment, text=True, cwd="/").strip()


SUM = """
import qanat as qn
with qn.Session() as session:
    print(session.run(qn.add(qn.constant(1.0), 2.0)))
"""


def test_three_parts_run_a_graph_and_name_the_part_they_lack(tmp_path: pathlib.Path) -> None:
    environment = Environment(tmp_path / "venv", "qanat-core", "qanat-ops", "qanat-kernels-cpu")
    assert environment.run(SUM) == "3.0"
    failure = """
import qanat as qn
try:
    qn.gradients
except AttributeError as error:
    print(error)
"""
    assert "qanat-autodiff" in environment.run(failure)


def test_the_assembled_distribution_has_every_part(tmp_path: pathlib.Path) -> None:
    environment = Environment(tmp_path / "venv", "qanat")
    assert environment.run(SUM) == "3.0"
    assert environment.run("import qanat as qn; print(callable(qn.gradients))") == "True"


def test_a_wheel_has_the_tag_of_what_is_in_it() -> None:
    for path in WHEELS:
        with zipfile.ZipFile(path) as archive:
            native = [name for name in archive.namelist() if name.endswith(".so")]
        tag = path.stem.split("-", 2)[2]
        if any("cpython" in name for name in native):
            expected = r"cp3\d+-cp3\d+-(manylinux_2_28|linux)_x86_64"
        elif native:
            expected = r"py3-none-(manylinux_2_28|linux)_x86_64"
        else:
            expected = "py3-none-any"
        assert re.fullmatch(expected, tag), path.name


def test_the_whole_requires_what_its_parts_require() -> None:
    required = {}
    for path in WHEELS:
        lines = re.findall(r"^Requires-Dist: (.+)$", metadata(path), re.MULTILINE)
        required[path.name.split("-")[0]] = {line for line in lines if not line.startswith("qanat")}
    whole = required.pop("qanat")
    assert whole == set().union(*required.values())


def test_the_whole_is_small() -> None:
    with zipfile.ZipFile(wheel("qanat")) as archive:
        assert sum(member.file_size for member in archive.infolist()) < MAX_INSTALLED_BYTES


@pytest.mark.parametrize("path", WHEELS, ids=lambda path: path.name.split("-")[0])
def test_a_wheel_holds_its_licence_and_no_test(path: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    assert [name for name in names if name.endswith("/licenses/LICENSE")]
    assert not [name for name in names if name.endswith(("_test.py", "_test", "conftest.py"))]
