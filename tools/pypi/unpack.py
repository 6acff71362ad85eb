"""Unpacks one wheel into a folder the way an installer does, and prints what it requires.

usage: unpack.py WHEEL FOLDER

Requirements that come only with an extra are left out; other markers are not judged, because the
lock already holds exactly what the supported interpreters need.
"""

import os
import re
import sys
import zipfile


def place(member: str) -> str:
    """Where a member of the wheel goes, below the folder."""
    parts = member.split("/")
    if not parts[0].endswith(".data"):
        return member
    kind, rest = parts[1], parts[2:]
    return "/".join(rest if kind in ("purelib", "platlib") else ["_" + kind, *rest])


def unpack(archive: zipfile.ZipFile, folder: str) -> None:
    root = os.path.abspath(folder)
    for info in archive.infolist():
        if info.is_dir():
            continue
        path = os.path.normpath(os.path.join(root, place(info.filename)))
        if not path.startswith(root + os.sep):
            raise SystemExit(f"a member leaves the folder: {info.filename}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(archive.read(info))
        if (info.external_attr >> 16) & 0o111:
            os.chmod(path, 0o755)


def requirements(archive: zipfile.ZipFile) -> list[str]:
    (metadata,) = [n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n)]
    head = archive.read(metadata).decode().split("\n\n")[0]
    lines = re.findall(r"^Requires-Dist: *([A-Za-z0-9._-]+)(.*)$", head, re.MULTILINE)
    return sorted({name for name, rest in lines if not re.search(r"\bextra\b", rest)})


def main(wheel: str, folder: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        unpack(archive, folder)
        print("\n".join(requirements(archive)))


main(*sys.argv[1:])
