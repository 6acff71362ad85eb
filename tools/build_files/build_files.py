"""Reads BUILD files without Bazel: with a few names defined, they and .bzl files are Python.

Reader(root).targets("packages/core") returns the rules that the folder's BUILD file calls, in order
and with macros expanded: what Bazel's loading phase knows. Rules are not run. glob() looks at the
disk, and select() takes the branch of the default platform.
"""

import dataclasses
import fnmatch
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

# What select() finds true, as on the default platform of .bazelrc.
CONDITIONS = ("@platforms//cpu:x86_64", "//conditions:default")

# The rules that Bazel 4 defines itself and that are used here without loading them.
NATIVE = (
    "alias",
    "config_setting",
    "filegroup",
    "genrule",
    "package_group",
    "platform",
    "toolchain",
)

Names = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Target:
    """One call of a rule: qanat_py_library(name = "core", ...) in packages/core."""

    folder: str
    rule: str
    attributes: Names

    @property
    def name(self) -> str:
        return str(self.attributes["name"])

    @property
    def label(self) -> str:
        return full_label(self.folder, self.name)

    def values(self, attribute: str) -> list[str]:
        return list(self.attributes.get(attribute) or ())

    def labels(self, attribute: str) -> list[str]:
        return [full_label(self.folder, label) for label in self.values(attribute)]


def full_label(folder: str, label: str) -> str:
    """`:x`, `x`, `//a/b` and `@other` in full, as Bazel means them; `@other//...` as it is."""
    if label.startswith("@"):
        return label if "//" in label else f"{label}//:{label.removeprefix('@')}"
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


def _files(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """The files of a folder, but not of folders below that have their own BUILD."""
    for path in folder.iterdir():
        if path.is_file():
            yield path
        elif not (path / "BUILD").exists():
            yield from _files(path)


def select(branches: Names) -> Any:
    return next(branches[condition] for condition in CONDITIONS if condition in branches)


class Rule:
    """What rule() makes; the variable that holds it names it."""

    def __init__(self, reader: "Reader", name: str = "") -> None:
        self.reader = reader
        self.name = name

    def __call__(self, **attributes: Any) -> None:
        self.reader.found.append(Target(self.reader.folder, self.name, attributes))


class Anything:
    """Stands for what only rules' implementations use, such as attr.label()."""

    def __getattr__(self, name: str) -> "Anything":
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> "Anything":
        return self


class Reader:
    """The BUILD files of one repository.

    `loaded` gives the constants of .bzl files of other repositories, {"@host_python//:defs.bzl":
    {"EXT_SUFFIX": ...}}; whatever else is loaded from there is taken for a rule.
    """

    def __init__(self, root: pathlib.Path, loaded: dict[str, Names] | None = None) -> None:
        self.root = root
        self.loaded = loaded or {}
        self.folder = ""
        self.found: list[Target] = []
        self.modules: dict[str, Names] = {}
        self.packages: dict[str, list[Target]] = {}

    def target(self, label: str) -> Target | None:
        """The target of a full label, or None where it names a file."""
        folder, _, name = label.removeprefix("//").partition(":")
        return next((t for t in self.targets(folder) if t.name == name), None)

    def targets(self, folder: str, file: str = "BUILD") -> list[Target]:
        if folder not in self.packages:
            outer, self.folder, self.found = (self.folder, self.found), folder, []
            self.run(self.root / folder / file, folder, self.build_names())
            self.packages[folder] = self.found
            self.folder, self.found = outer
        return self.packages[folder]

    def run(self, path: pathlib.Path, folder: str, names: Names) -> Names:
        names["load"] = self.loader(folder, names)
        exec(compile(path.read_text(), path, "exec"), names)
        return names

    def loader(self, folder: str, names: Names) -> Callable[..., None]:
        def load(label: str, *wanted: str, **renamed: str) -> None:
            module = self.module(full_label(folder, label))
            for name, original in {**{w: w for w in wanted}, **renamed}.items():
                names[name] = module[original] if original in module else Rule(self, original)

        return load

    def module(self, label: str) -> Names:
        if label in self.loaded or label.startswith("@"):
            return self.loaded.get(label, {})
        if label not in self.modules:
            folder, _, name = label.removeprefix("//").partition(":")
            path = self.root / folder / name
            self.modules[label] = self.run(path, folder, self.module_names())
            for name, value in self.modules[label].items():
                if isinstance(value, Rule) and not value.name:
                    value.name = name
        return self.modules[label]

    def build_names(self) -> Names:
        ignored = dict.fromkeys(("exports_files", "licenses", "package"), lambda *_, **__: None)
        rules = {name: Rule(self, name) for name in NATIVE}
        return {**ignored, **rules, "glob": self.glob, "select": select}

    def module_names(self) -> Names:
        native = type("native", (), {k: staticmethod(v) for k, v in self.build_names().items()})
        unused = dict.fromkeys(("attr", "provider", "repository_rule", "PyInfo"), Anything())
        return {**unused, "native": native, "rule": lambda **_: Rule(self), "select": select}

    def glob(self, include: list[str], exclude: list[str] | None = None, **_: Any) -> list[str]:
        folder = self.root / self.folder
        paths = [path.relative_to(folder) for path in _files(folder)]
        return sorted(
            str(path)
            for path in paths
            if any(matches(path, pattern) for pattern in include)
            and not any(matches(path, pattern) for pattern in exclude or ())
        )
