"""Asks zig once how it compiles for a target; keeps the C runtime it builds, and the flags.

usage: sysroot.py --zig=ZIG --label=DIR --target=TRIPLE --stamp=TEXT --store=FOLDER OUT

After this, Bazel's actions are `zig clang` and `zig ld.lld` over plain files, with exactly the
flags that Bazel gives: no cache of zig's outside the sandbox, and the same bytes on every machine.
--label is where actions see zig's folder. The runtime takes half a minute, so finished ones are
kept in --store under a name made of all that decides their bytes.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

# Uses what a C++ program can use: threads, exceptions, streams. So zig builds all of its runtime.
PROBE = """#include <iostream>
#include <thread>
int main() {
  std::thread thread([] {
    try { throw 1; } catch (int e) { std::cout << e; }
  });
  thread.join();
}
"""

LIBRARY = re.compile(r"\.(a|o|so\.\d+)$")


def probe(zig: str, target: str) -> tuple[list[str], list[str]]:
    """The compile and the link command that `zig c++` runs for the probe."""
    pathlib.Path("probe.cc").write_text(PROBE)
    command = [zig, "c++", "-target", target, "-O3", "-s", "probe.cc", "-o", "probe.exe"]
    environment = dict(os.environ, ZIG_VERBOSE_CC="1", ZIG_VERBOSE_LINK="1")
    result = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        sys.exit("zig failed:\n" + result.stdout[-4000:])
    lines = [line.split() for line in result.stdout.splitlines() if line]
    compiles = [line for line in lines if "clang" in line[:2] and "probe.cc" in line]
    links = [line for line in lines if line[0].endswith("ld.lld") and "probe.exe" in line]
    if not compiles or not links:
        sys.exit("zig did not say how it compiles or links; is its cache folder not new?")
    return compiles[0], links[-1]


def compile_flags(command: list[str]) -> list[str]:
    """What of a compile command names the target and its headers."""
    kept = []
    words = iter(command[command.index("clang") + 1 :])
    for word in words:
        if word in ("-MF", "-o", "-Xclang"):
            next(words)
        elif word in ("-target", "-isystem"):
            kept += [word, next(words)]
        elif word.startswith(
            ("-D_", "-nostdinc", "-mabi=", "-mfloat-abi=", "-fhosted", "--no-default-config")
        ):
            kept.append(word)
    return kept


def link_parts(command: list[str]) -> tuple[list[str], list[str]]:
    """The runtime's files, in link order, and the flags, of a link command."""
    files, flags = [], []
    words = iter(command[1:])
    for word in words:
        if word == "-o":
            next(words)
        elif word == "--dynamic-linker":
            flags.append(word + "=" + next(words))
        elif word in ("-static", "-Bstatic"):
            flags.append("-static")
        elif LIBRARY.search(word) and os.path.isfile(word) and os.path.basename(word) != "probe.o":
            files.append(word)
    return files, flags


def archive_members(data: bytes):
    """The (name, bytes) of the objects of an `ar` archive."""
    position, long_names = 8, b""
    while position < len(data):
        header = data[position : position + 60]
        name, size = header[:16].rstrip(), int(header[48:58])
        body = data[position + 60 : position + 60 + size]
        position += 60 + size + (size & 1)
        if name == b"//":
            long_names = body
        elif name not in (b"/", b"/SYM64/"):
            if name.startswith(b"/"):
                start = int(name[1:])
                name = long_names[start : long_names.index(b"\n", start)]
            yield os.path.basename(name.decode().rstrip("/")), body


def repack(zig: str, source: str, target: pathlib.Path) -> None:
    """The same objects under plain names: zig names members by their path in its cache."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, body in archive_members(pathlib.Path(source).read_bytes()):
            names.append(f"{len(names):04d}_{name}")
            pathlib.Path(folder, names[-1]).write_bytes(body)
        subprocess.run([zig, "ar", "rcsD", target.absolute(), *names], cwd=folder, check=True)


def keep(zig: str, files: list[str], folder: pathlib.Path) -> list[str]:
    """Copies the runtime's files into a folder; their names there, in link order."""
    folder.mkdir(parents=True)
    names = [os.path.basename(file) for file in files]
    if len(set(names)) != len(names):
        sys.exit("two files of the runtime have one name: " + " ".join(files))
    for file, name in zip(files, names, strict=True):
        if name.endswith(".a"):
            repack(zig, file, folder / name)
        else:
            shutil.copyfile(file, folder / name)
        # The name that `-lfoo` looks for.
        if ".so." in name and not name.startswith("libld"):
            link = folder / (name.split(".so.")[0] + ".so")
            if not link.exists():
                link.symlink_to(name)
    return names


def build(zig: str, label: str, target: str, out: pathlib.Path) -> None:
    compiles, links = probe(zig, target)
    files, link_flags = link_parts(links)
    names = keep(zig, files, out / "lib")
    home = os.path.dirname(zig)
    constants = {
        "COMPILE": [flag.replace(home, label) for flag in compile_flags(compiles)],
        "CRT": ["lib/" + name for name in names if name.endswith(".o")],
        "LIBS": ["lib/" + name for name in names if not name.endswith(".o")],
        "LINK": link_flags,
    }
    lines = [f"{name} = {json.dumps(value, indent=4)}\n" for name, value in constants.items()]
    (out / "flags.bzl").write_text("".join(lines))


def stored(options: argparse.Namespace) -> pathlib.Path:
    """The tar file of the runtime, made if it is not in the store."""
    text = pathlib.Path(__file__).read_text()
    key = repr((options.stamp, options.label, options.target, text))
    name = f"zig-{options.target}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.tar"
    store = pathlib.Path(options.store)
    if not (store / name).exists():
        build(os.path.abspath(options.zig), options.label, options.target, pathlib.Path("runtime"))
        store.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=store, delete=False) as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                tar.add("runtime", ".")
        # Another build may have stored the same meanwhile; whoever is last wins, with the same
        # bytes.
        os.rename(file.name, store / name)
    return store / name


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("zig", "label", "target", "stamp", "store"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("out")
    options = parser.parse_args()
    with tarfile.open(stored(options)) as tar:
        tar.extractall(options.out)


if __name__ == "__main__":
    main()
