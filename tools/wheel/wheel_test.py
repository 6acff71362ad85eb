"""What a wheel must be for every installer: named, complete, checksummed, reproducible."""

import base64
import csv
import hashlib
import io
import pathlib
import zipfile

import pytest

from tools.wheel import wheel


def spec(folder: pathlib.Path, files: dict[str, bytes], tag: str = "py3-none-any") -> dict:
    pairs = []
    for number, (path, data) in enumerate(files.items()):
        source = folder / str(number)
        source.write_bytes(data)
        pairs.append([path, str(source)])
    licence = folder / "LICENSE"
    licence.write_text("free")
    return {
        "distribution": "qanat-core",
        "version": "1.2",
        "tag": tag,
        "summary": "A part",
        "license": "Apache-2.0",
        "requires": ["numpy"],
        "files": pairs,
        "licenses": [["LICENSE", str(licence)]],
    }


def test_every_member_is_in_the_record_with_its_hash(tmp_path: pathlib.Path) -> None:
    wheel.write(spec(tmp_path, {"qanat/b.py": b"2", "qanat/a.py": b"1"}), str(tmp_path / "w.whl"))
    with zipfile.ZipFile(tmp_path / "w.whl") as archive:
        record = archive.read("qanat_core-1.2.dist-info/RECORD").decode()
        rows = {path: (digest, size) for path, digest, size in csv.reader(io.StringIO(record))}
        assert sorted(rows) == sorted(archive.namelist())
        for path in set(rows) - {"qanat_core-1.2.dist-info/RECORD"}:
            data = archive.read(path)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert rows[path] == ("sha256=" + digest, str(len(data)))
        metadata = archive.read("qanat_core-1.2.dist-info/METADATA").decode()
        assert "Requires-Dist: numpy\n" in metadata and "License-File: LICENSE\n" in metadata


def test_what_only_an_extra_requires(tmp_path: pathlib.Path) -> None:
    requires = ["numpy", "pycuda>=1; extra == 'cuda'", "nvrtc; extra == 'cuda'"]
    text = wheel.metadata_text({**spec(tmp_path, {}), "requires": requires})
    assert "Requires-Dist: pycuda>=1; extra == 'cuda'\n" in text
    assert text.count("Provides-Extra: cuda\n") == text.count("Provides-Extra") == 1


def test_the_order_of_the_inputs_does_not_matter(tmp_path: pathlib.Path) -> None:
    one = spec(tmp_path, {"qanat/a.py": b"1", "qanat/b.py": b"2"})
    wheel.write(one, str(tmp_path / "1.whl"))
    wheel.write({**one, "files": one["files"][::-1]}, str(tmp_path / "2.whl"))
    assert (tmp_path / "1.whl").read_bytes() == (tmp_path / "2.whl").read_bytes()


def test_a_wheel_holds_no_test(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SystemExit, match="a_test.py is a test"):
        wheel.write(spec(tmp_path, {"qanat/a_test.py": b""}), str(tmp_path / "w.whl"))


def test_a_manylinux_wheel_asks_for_no_new_glibc(tmp_path: pathlib.Path) -> None:
    tag = "cp311-cp311-manylinux_2_28_x86_64"
    wheel.write(spec(tmp_path, {"a.so": b"\0GLIBC_2.4\0"}, tag), str(tmp_path / "w.whl"))
    with pytest.raises(SystemExit, match=r"needs glibc \(2, 34\)"):
        wheel.write(spec(tmp_path, {"a.so": b"\0GLIBC_2.34\0"}, tag), str(tmp_path / "w.whl"))
