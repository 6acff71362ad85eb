"""Every kernel compiles for the GPUs that are meant, by the compiler that is used with one."""

import re
from pathlib import Path

import pytest

from qanat.core.errors import InternalError
from qanat.kernels_cuda import compiler, sources
from qanat.kernels_cuda.compiler import Compiler

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")


def kernels_of(binary: bytes) -> set[str]:
    """The names of the kernels in machine code: each has a section."""
    return {name.decode() for name in re.findall(rb"\.text\.(\w+)", binary)}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("module", sources.modules())
def test_compiles(module: str, architecture: str, tmp_path: Path) -> None:
    binary = Compiler(architecture, tmp_path).compile(module)
    assert binary.startswith(b"\x7fELF")
    names = kernels_of(binary)
    assert names and all(name.endswith(_endings(module)) for name in names)


def _endings(module: str) -> tuple[str, ...]:
    """How kernels say what they take: a type, or the size of an element."""
    types = ("float32", "float64", "int32", "int64")
    return (*types, *"1248") if module == "arrays" else types


def test_a_kernel_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Compiler("sm_80", tmp_path).compile("matmul")
    monkeypatch.setattr(compiler.Nvrtc, "compile", lambda *_: pytest.fail("it was in the cache"))
    assert Compiler("sm_80", tmp_path).compile("matmul") == made
    assert len(list(tmp_path.iterdir())) == 1


def test_another_source_is_another_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.Nvrtc, "compile", lambda self, source, *_: source.encode())
    Compiler("sm_80", tmp_path).compile("matmul")
    Compiler("sm_90", tmp_path).compile("matmul")
    monkeypatch.setattr(sources, "source_of", lambda module: "changed")
    assert Compiler("sm_80", tmp_path).compile("matmul") == b"changed"
    assert len(list(tmp_path.iterdir())) == 3


def test_a_cache_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_bytes(b"")
    assert Compiler("sm_80", folder).compile("matmul").startswith(b"\x7fELF")


def test_an_error_is_the_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "source_of", lambda module: "KERNEL(f) { undefined(); }")
    with pytest.raises(InternalError, match=r"expected matmul.cu to compile, got (?s:.*)KERNEL"):
        Compiler("sm_80", tmp_path).compile("matmul")
