"""Checks who uses whom, by every import and #include below packages/.

The arrows stand in packages/BUILD: the package_group `users_of.core.native` names who may use what
is in packages/core/native. The innermost folder with a group decides. This reads the sources
themselves, because Bazel sees only what a BUILD file declares.
"""

import ast
import dataclasses
import pathlib
import re
from collections.abc import Iterator

from tools.build_files import build_files

INCLUDE = re.compile(r'^\s*#\s*include\s+"(packages/[^"]+)"')

# `import qanat` gives the whole system, so it counts as using the assembled distribution.
FACE = "qanat"


@dataclasses.dataclass(frozen=True)
class Use:
    """A line that uses something: `used` is a path below packages/, a module's or a header's."""

    file: pathlib.PurePath
    line: int
    used: str


def imports(tree: ast.AST, module: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The (line, dotted name) of all that a module named `module` imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            base = module[: -node.level] if node.level else []
            name = base + (node.module.split(".") if node.module else [])
            # `from qanat import core` imports a part, `from qanat.core import graph` one all the
            # more.
            for alias in node.names:
                yield node.lineno, name + [alias.name]


def python_uses(file: pathlib.PurePath, text: str) -> Iterator[Use]:
    module = ["qanat", *file.with_suffix("").parts[1:]]
    for line, name in imports(ast.parse(text), module):
        if name == ["qanat"] or name[:2] == ["qanat", "*"]:
            yield Use(file, line, FACE)
        elif name[0] == "qanat":
            yield Use(file, line, "/".join(name[1:]))


def native_uses(file: pathlib.PurePath, text: str) -> Iterator[Use]:
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            yield Use(file, number, include[1].removeprefix("packages/"))


READERS = {".py": python_uses, ".pyi": python_uses}
READERS.update({ending: native_uses for ending in (".h", ".cc", ".cu", ".cuh")})


class Arrows:
    """Who may use whom, out of packages/BUILD."""

    def __init__(self, root: pathlib.Path) -> None:
        self.users = {
            target.name.removeprefix("users_of.").replace(".", "/"): target.values("packages")
            for target in build_files.Reader(root).targets("packages")
            if target.rule == "package_group"
        }

    def allow(self, use: Use) -> bool:
        folder = "//" + str(use.file.parent)
        patterns = self.users.get(self.governing(use.used), ())
        return any(covers(pattern, folder) for pattern in patterns)

    def governing(self, used: str) -> str:
        """The innermost folder with a group that holds what is used."""
        while used and used not in self.users:
            used = used.rpartition("/")[0]
        return used


def covers(pattern: str, folder: str) -> bool:
    """Whether Bazel's package pattern (`//a/b`, `//a/...`) covers a folder."""
    if not pattern.endswith("..."):
        return pattern == folder
    return f"{folder}/".startswith(pattern.removesuffix("..."))


def violations(root: pathlib.Path) -> list[str]:
    """One message for each use that no arrow allows."""
    arrows = Arrows(root)
    found = []
    for path in sorted((root / "packages").rglob("*")):
        read = READERS.get(path.suffix)
        if read is None:
            continue
        for use in read(path.relative_to(root), path.read_text()):
            if not arrows.allow(use):
                group = arrows.governing(use.used).replace("/", ".") or "(no such group)"
                place = f"{use.file}:{use.line}"
                found.append(f"{place}: uses {use.used}, but is not among users_of.{group}")
    return found
