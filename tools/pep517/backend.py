"""The PEP 517 backend of the whole: `pip install .` makes the wheel //packages/qanat:wheel.

With a Bazel on PATH, Bazel builds it. Without one, pip first installs the locked compiler and
generators, and without_bazel.py builds the same from the same BUILD files.
"""

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

WHEEL = "packages/qanat"

# Distributions that a build without Bazel needs, and the locks that pin them.
BUILD_REQUIRES = {
    "third_party/pypi/lock.txt": ("grpcio-tools", "nanobind", "numpy"),
    "third_party/ziglang/lock.txt": ("ziglang",),
}


def has_bazel() -> bool:
    return any(shutil.which(name) for name in ("bazel-4", "bazelisk", "bazel"))


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return [] if has_bazel() else list(pinned())


def pinned() -> list[str]:
    """The `name==version` of what a build without Bazel needs."""
    found = []
    for lock, names in BUILD_REQUIRES.items():
        words = (ROOT / lock).read_text().split()
        found += [word for word in words if word.split("==")[0] in names]
    return found


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Builds nothing, so that pip has all that Qanat requires before the long build begins."""
    from tools.pep517 import wheel_spec
    from tools.wheel import wheel

    spec = wheel_spec.read(wheel_spec.build_files(ROOT), f"//{WHEEL}:wheel")
    *members, _record = wheel.contents({**spec, "files": []})
    for name, data in members:
        path = pathlib.Path(metadata_directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return pathlib.PurePath(name).parent.name


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    if has_bazel():
        return with_bazel(pathlib.Path(wheel_directory))
    from tools.pep517 import without_bazel

    return without_bazel.build(ROOT, WHEEL, pathlib.Path(wheel_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    raise SystemExit("qanat has no source distribution: install from a clone, or take a wheel")


def with_bazel(folder: pathlib.Path) -> str:
    command = [str(ROOT / "tools/wheels"), f"--folder={folder}", "qanat"]
    printed = subprocess.check_output(command, cwd=ROOT, env=bazel_environment(), text=True)
    return pathlib.Path(printed.strip()).name


def bazel_environment() -> dict[str, str]:
    """Without what pip adds for its temporary build environment, and with the interpreter named."""
    dropped = ("PYTHON", "PEP517")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    folders = kept["PATH"].split(os.pathsep)
    kept["PATH"] = os.pathsep.join(f for f in folders if "pip-build-env-" not in f)
    # Naming the interpreter makes Bazel fetch its packages anew, so only where it is another.
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    default = shutil.which("python3", path=kept["PATH"])
    if default is None or not same_interpreter(default, base):
        kept["QANAT_PYTHON"] = base
    return kept


def same_interpreter(python: str, base: str) -> bool:
    command = [python, "-c", "import os, sys; print(os.path.realpath(sys._base_executable))"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return result.stdout.strip() == base
