"""Files come out of an installed package or a downloaded one, and only those that were meant."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fetch.sh").absolute()
TEXT = b"a text\n"
SHA256 = hashlib.sha256(TEXT).hexdigest()

# Stands in for apt-get: what it "downloads" is the tar archive that the stand-in of dpkg-deb gives.
APT_GET = """#!/bin/sh
for last; do :; done
case "$*" in
  *" download "*) [ -e "$PACKAGES/$last.deb" ] && cp "$PACKAGES/$last.deb" "${last}_1.deb" ;;
esac || { echo "E: Unable to locate package $last"; exit 100; }
"""
DPKG_DEB = '#!/bin/sh\ncat "$2"\n'


def fetch(
    cwd: Path, *arguments: str, path: str | None = None
) -> "subprocess.CompletedProcess[str]":
    cwd.mkdir(exist_ok=True)
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *arguments],
        cwd=cwd,
        env=dict(os.environ, PACKAGES=str(cwd.parent), PATH=path or os.environ["PATH"]),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def installed(tmp_path: Path) -> str:
    folder = tmp_path / "usr"
    folder.mkdir()
    (folder / "text").write_bytes(TEXT)
    return str(folder)


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """A PATH with stand-ins for Debian's programs before the real ones."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, contents in (("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB)):
        (folder / name).write_text(contents)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_from_where_it_is_installed(tmp_path: Path, installed: str) -> None:
    done = fetch(tmp_path / "out", "words", installed, f"text={SHA256}")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out/text").read_bytes() == TEXT


def test_a_corrupt_file(tmp_path: Path, installed: str) -> None:
    Path(installed, "text").write_bytes(TEXT[:-1])
    done = fetch(tmp_path / "out", "words", installed, f"text={SHA256}")
    other = hashlib.sha256(TEXT[:-1]).hexdigest()
    assert done.returncode == 1
    assert done.stderr == f"text has the SHA-256 {other}, expected {SHA256}\n"


def test_a_file_that_the_package_lacks(tmp_path: Path, installed: str) -> None:
    done = fetch(tmp_path / "out", "words", installed, f"text={SHA256}", "more=0")
    assert done.returncode != 0 and "more" in done.stderr


def test_out_of_the_package(tmp_path: Path, programs: str) -> None:
    (tmp_path / "tree/usr/share/words").mkdir(parents=True)
    (tmp_path / "tree/usr/share/words/text").write_bytes(TEXT)
    archive = ["tar", "-cf", "words.deb", "-C", "tree", "./usr"]
    subprocess.run(archive, cwd=tmp_path, check=True, timeout=60)
    wanted = f"text={SHA256}"
    done = fetch(tmp_path / "out", "words", "/usr/share/words", wanted, path=programs)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["text"]


def test_an_unknown_package(tmp_path: Path, programs: str) -> None:
    done = fetch(tmp_path / "out", "words", "/nowhere", "text=0", path=programs)
    assert done.returncode == 1
    assert "could not download the package: E: Unable to locate package words" in done.stderr


def test_no_debian(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("cp", "cut", "sha256sum"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    path = str(tmp_path / "bin")
    done = fetch(tmp_path / "out", "words", "/nowhere", "text=0", path=path)
    assert (done.returncode, done.stderr) == (1, "this machine has no apt-get\n")
