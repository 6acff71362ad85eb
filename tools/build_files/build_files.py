"""Reads BUILD files without Bazel: they are Python enough.

read(root, "packages/core") returns the calls of rules in that folder's BUILD file, in order. Names
that the file loads are rules; glob() looks at the disk; select() takes the branch of the default
platform.
"""

import dataclasses
import fnmatch
import pathlib
from typing import Any

# What select() finds true, as on the default platform of .bazelrc.
CONDITIONS = ("@platforms//cpu:x86_64", "//conditions:default")

# The rules that BUILD files use without loading them.
NATIVE = ("config_setting", "filegroup", "genrule", "package_group")


@dataclasses.dataclass(frozen=True)
class Target:
    """One call of a rule: qanat_py_library(name = "core", ...) in packages/core."""

    folder: str
    rule: str
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        return self.attributes["name"]

    def values(self, attribute: str) -> list[str]:
        return list(self.attributes.get(attribute, ()))

    def labels(self, attribute: str) -> list[str]:
        """The full labels of an attribute, as `//packages/core:core`; `@other//...` as it is."""
        return [full_label(self.folder, label) for label in self.values(attribute)]


def full_label(folder: str, label: str) -> str:
    if label.startswith("@"):
        return label
    if not label.startswith("//"):
        return f"//{folder}:{label.removeprefix(':')}"
    if ":" not in label:
        return f"{label}:{label.rsplit('/', 1)[-1]}"
    return label


def matches(path: pathlib.PurePath, pattern: str) -> bool:
    """Whether a path matches a glob: `*` stays within a folder, `**` is any number of folders."""
    return _match(list(path.parts), pattern.split("/"))


def _match(parts: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_match(parts[i:], patterns[1:]) for i in range(len(parts) + 1))
    same = bool(parts) and fnmatch.fnmatchcase(parts[0], patterns[0])
    return same and _match(parts[1:], patterns[1:])


def glob(folder: pathlib.Path, include: list[str], exclude: list[str] = ()) -> list[str]:
    """As Bazel's glob: files of the folder, but not of folders below that have their own BUILD."""
    found = []
    for path in _files(folder):
        relative = path.relative_to(folder)
        if any(matches(relative, p) for p in include):
            if not any(matches(relative, p) for p in exclude):
                found.append(str(relative))
    return sorted(found)


def _files(folder: pathlib.Path):
    for path in folder.iterdir():
        if path.is_file():
            yield path
        elif not (path / "BUILD").exists():
            yield from _files(path)


def select(branches: dict[str, Any]) -> Any:
    return next(branches[condition] for condition in CONDITIONS if condition in branches)


def read(root: pathlib.Path, folder: str) -> list[Target]:
    targets: list[Target] = []

    def rule(name: str):
        return lambda **attributes: targets.append(Target(folder, name, attributes))

    names: dict[str, Any] = {
        "exports_files": lambda *_, **__: None,
        "glob": lambda include, exclude=(), **_: glob(root / folder, include, exclude),
        "package": lambda **_: None,
        "select": select,
        **{name: rule(name) for name in NATIVE},
    }
    names["load"] = lambda _, *loaded: names.update({name: rule(name) for name in loaded})
    path = root / folder / "BUILD"
    exec(compile(path.read_text(), path, "exec"), names)
    return targets
