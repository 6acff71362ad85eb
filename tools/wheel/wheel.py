"""Writes a wheel: the same bytes from the same inputs.

usage: wheel.py SPEC.json OUT.whl

The spec:
  distribution, version, tag    as in the wheel's name
  summary, license, requires    what METADATA says: a sentence, an SPDX expression, a list
  files                         [path in the wheel, path on disk] pairs
  licenses                      the same, below the folder for licences
"""

import base64
import hashlib
import json
import pathlib
import re
import sys
import zipfile

# The newest glibc that a manylinux_2_28 wheel may ask for. NumPy's wheels ask for as much.
GLIBC = (2, 28)


def check_symbols(path: str, data: bytes) -> None:
    """A shared object must ask for no symbol version that an older system lacks."""
    versions = {(int(a), int(b)) for a, b in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", data)}
    if versions and max(versions) > GLIBC:
        raise SystemExit(f"{path} needs glibc {max(versions)}, the wheel's tag promises {GLIBC}")


def check_is_no_test(path: str) -> None:
    if path.endswith(("_test.py", "conftest.py")):
        raise SystemExit(f"{path} is a test: a wheel holds none")


def metadata_text(spec: dict) -> str:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {spec['distribution']}",
        f"Version: {spec['version']}",
        f"Summary: {spec['summary']}",
        f"License-Expression: {spec['license']}",
        *[f"License-File: {name}" for name, _ in spec["licenses"]],
        "Requires-Python: >=3.11",
        *[f"Requires-Dist: {requirement}" for requirement in spec["requires"]],
        *[f"Provides-Extra: {extra}" for extra in extras(spec["requires"])],
    ]
    return "\n".join(lines) + "\n"


def extras(requirements: list[str]) -> list[str]:
    """The names in `NAME; extra == 'cuda'`: what can be asked for as DISTRIBUTION[cuda]."""
    found = (re.search(r"extra *== *['\"]([\w-]+)['\"]", line) for line in requirements)
    return sorted({match[1] for match in found if match})


def wheel_text(spec: dict) -> str:
    tags = ["-".join(t) for t in expand(spec["tag"])]
    pure = "true" if spec["tag"].endswith("-any") else "false"
    lines = ["Wheel-Version: 1.0", "Generator: qanat", f"Root-Is-Purelib: {pure}"]
    return "\n".join(lines + [f"Tag: {tag}" for tag in tags]) + "\n"


def expand(tag: str) -> list[tuple[str, str, str]]:
    pythons, abis, platforms = (part.split(".") for part in tag.split("-"))
    return [(p, a, f) for p in pythons for a in abis for f in platforms]


def record_line(path: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{path},sha256={digest},{len(data)}\n"


def contents(spec: dict) -> list[tuple[str, bytes]]:
    """All members but RECORD, in order."""
    info = f"{spec['distribution'].replace('-', '_')}-{spec['version']}.dist-info"
    files = sorted(spec["files"]) + [[f"{info}/licenses/{n}", p] for n, p in spec["licenses"]]
    members = [(path, pathlib.Path(source).read_bytes()) for path, source in files]
    for path, data in members:
        check_is_no_test(path)
        if "manylinux" in spec["tag"] and path.endswith(".so"):
            check_symbols(path, data)
    members.append((f"{info}/METADATA", metadata_text(spec).encode()))
    members.append((f"{info}/WHEEL", wheel_text(spec).encode()))
    record = "".join(record_line(path, data) for path, data in members)
    return [*members, (f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode())]


def file_name(spec: dict) -> str:
    return f"{spec['distribution'].replace('-', '_')}-{spec['version']}-{spec['tag']}.whl"


def write(spec: dict, out: str) -> None:
    with zipfile.ZipFile(out, "w") as archive:
        for path, data in contents(spec):
            member = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            member.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data, compresslevel=9)


def main(spec: str, out: str) -> None:
    write(json.loads(pathlib.Path(spec).read_text()), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
