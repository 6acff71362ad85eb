"""Builds a wheel from the BUILD files with nothing but the locked compiler and generators.

A small Bazel for one target on one platform: it knows the few rules that a wheel reaches, compiles
by `zig c++`, and keeps nothing.
"""

import importlib.metadata
import os
import pathlib
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy
import ziglang

from tools.build_files.build_files import Reader, Target
from tools.pep517 import wheel_spec
from tools.wheel import wheel

# As tools/cc/toolchain compiles for the default platform.
COMPILE = ["-target", "x86_64-linux-gnu.2.28", "-std=c++20", "-O3", "-DNDEBUG", "-g0", "-fPIC"]
COMPILE += ["-ffunction-sections", "-fdata-sections", "-fno-omit-frame-pointer"]
LINK = ["-target", "x86_64-linux-gnu.2.28", "-shared", "-s", "-Wl,--gc-sections"]

SITE = pathlib.Path(importlib.metadata.distribution("nanobind").locate_file(""))  # type: ignore[arg-type]


def build(root: pathlib.Path, folder: str, out: pathlib.Path) -> str:
    """Builds the wheel of a folder into `out`; returns its file's name."""
    if platform.machine() != "x86_64":
        raise SystemExit(f"Qanat builds on x86-64, and this is {platform.machine()}")
    with tempfile.TemporaryDirectory() as temporary:
        build = Build(root, pathlib.Path(temporary))
        spec = build.wheel_spec(f"//{folder}:wheel")
        name = wheel.file_name(spec)
        wheel.write(spec, str(out / name))
    return name


class Build:
    def __init__(self, root: pathlib.Path, temporary: pathlib.Path) -> None:
        self.root = root
        self.temporary = temporary
        self.reader = wheel_spec.build_files(root)
        self.foreign = {
            "@nanobind//:nanobind": self.nanobind(),
            "@host_python//:headers": self.python_headers(),
            "@pypi//:numpy_headers": headers("@pypi//:numpy_headers", numpy.get_include()),
        }

    # Targets and files.

    def target(self, label: str) -> Target | None:
        """The target of a label; None for a file, and for a distribution that is only required."""
        if label.startswith("@"):
            return self.foreign.get(label)
        return self.reader.target(label)

    def reached(self, labels: list[str]) -> Iterator[Target]:
        """The targets of some labels and all that their deps reach, each once, in order."""
        seen: set[str] = set()
        waiting = list(labels)
        while waiting:
            label = waiting.pop(0)
            target = None if label in seen else self.target(label)
            seen.add(label)
            if target is not None:
                yield target
                waiting += target.labels("deps")

    # The wheel.

    def wheel_spec(self, label: str) -> dict:
        target = self.target(label)
        assert target is not None, label
        files = {}
        for part in self.reached(target.labels("deps")):
            files.update(self.python_files(part))
        spec = wheel_spec.read(self.reader, label)
        return {**spec, "files": [[name, str(path)] for name, path in sorted(files.items())]}

    def python_files(self, target: Target) -> dict[str, pathlib.Path]:
        """What a Python library adds to a wheel: {path in the wheel: file}."""
        if target.rule == "qanat_py_library":
            labels = target.labels("srcs") + target.labels("data")
            return dict(pair for label in labels for pair in self.installed(label))
        if target.rule == "qanat_proto_library":
            return self.generate(target)
        raise SystemExit(f"{target.label} is a {target.rule}, which no wheel holds")

    def installed(self, label: str) -> Iterator[tuple[str, pathlib.Path]]:
        """What a source or data label adds to a wheel; other repositories' data adds nothing."""
        if label.startswith("@"):
            return
        target = self.target(label)
        if target is None:
            yield installed_path(label), wheel_spec.source_path(self.root, label)
        elif target.rule == "cc_binary":
            yield installed_path(label), self.link(target)
        else:  # a filegroup
            for source in target.labels("srcs"):
                yield from self.installed(source)

    # Protocol buffers.

    def generate(self, target: Target) -> dict[str, pathlib.Path]:
        out = self.temporary / "proto" / target.folder
        out.mkdir(parents=True)
        protos = [installed_path(label) for label in target.labels("srcs")]
        kinds = ["python", "pyi"] + (["grpc_python"] if target.attributes.get("grpc") else [])
        command = [sys.executable, "-m", "grpc_tools.protoc", "--proto_path=qanat=packages"]
        command += [f"--{kind}_out={out}" for kind in kinds]
        subprocess.run(command + protos, cwd=self.root, check=True)
        return {str(f.relative_to(out)): f for f in out.rglob("*") if f.is_file()}

    # C++.

    def link(self, target: Target) -> pathlib.Path:
        out = self.temporary / target.name
        commands, objects = [], []
        for library in self.reached(target.labels("deps")):
            for source in self.sources(library):
                object_file = self.temporary / f"{len(commands)}-{target.name}.o"
                commands.append([*self.compile_command(library), "-c", str(source)])
                commands[-1] += ["-o", str(object_file)]
                objects.append(str(object_file))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(zig, commands))
        zig([*LINK, *target.values("linkopts"), *objects, "-o", str(out)])
        return out

    def sources(self, library: Target) -> list[pathlib.Path]:
        folder = self.folder(library)
        return [folder / s for s in library.values("srcs") if s.endswith((".cc", ".cpp"))]

    def folder(self, target: Target) -> pathlib.Path:
        return SITE if target in self.foreign.values() else self.root / target.folder

    def compile_command(self, library: Target) -> list[str]:
        command = [*COMPILE, "-iquote", str(self.root)]
        for flag in library.values("copts"):
            command.append(flag.replace("-Iexternal/nanobind/", f"-I{SITE}/"))
        command += ["-D" + define for define in library.values("local_defines")]
        for target in self.reached([library.label]):
            command += ["-D" + define for define in target.values("defines")]
            for folder in target.values("includes"):
                command += ["-isystem", str(self.folder(target) / folder)]
        return command

    def nanobind(self) -> Target:
        version = importlib.metadata.version("nanobind")
        reader = Reader(SITE, {"//:version.bzl": {"VERSION": version}})
        # Its BUILD file stands in third_party/ and speaks of the folder of the wheel.
        build_file = self.root / "third_party/nanobind/nanobind.BUILD"
        (target,) = reader.targets("", str(build_file))
        attributes = {**target.attributes, "name": "@nanobind//:nanobind"}
        return Target("", target.rule, attributes)

    def python_headers(self) -> Target:
        include = pathlib.Path(sysconfig.get_paths()["include"])
        if not (include / "Python.h").exists():
            raise SystemExit(f"no Python.h in {include}: install the interpreter's headers")
        # Debian's pyconfig.h includes <MULTIARCH/pythonX.Y/pyconfig.h>; only its own gcc finds it.
        multiarch = str(sysconfig.get_config_var("MULTIARCH"))
        config = include.parent / multiarch / include.name
        if config.exists():
            link = self.temporary / "multiarch" / multiarch / include.name
            link.parent.mkdir(parents=True)
            link.symlink_to(config)
        arch = str(self.temporary / "multiarch")
        return headers("@host_python//:headers", str(include), arch)


def headers(label: str, *folders: str) -> Target:
    return Target("", "cc_library", {"name": label, "includes": folders})


def installed_path(label: str) -> str:
    """Where a file of this repository is installed: packages/ is the package `qanat`."""
    return "qanat/" + label.removeprefix("//packages").replace(":", "/").removeprefix("/")


def zig(arguments: list[str]) -> None:
    compiler = pathlib.Path(ziglang.__path__[0], "zig")
    result = subprocess.run(
        [compiler, "c++", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        raise SystemExit(f"zig c++ {' '.join(arguments)}\n{result.stdout}")
