"""Compiles `cu/*.cu` for a GPU by NVRTC, and keeps what it made on disk."""

import ctypes
import hashlib
import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from ctypes.util import find_library
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from qanat.core.errors import InternalError, UnavailableError
from qanat.kernels_cuda import sources


def cache_folder() -> Path:
    """Where compiled kernels are kept: QANAT_CUDA_CACHE, else the user's cache."""
    given = os.environ.get("QANAT_CUDA_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qanat" / "cuda"


class Compiler:
    """Compiles for one architecture.

    Args:
        architecture: such as "sm_90".
        folder: of the cache; `cache_folder()` if not given.
    """

    def __init__(self, architecture: str, folder: Path | None = None) -> None:
        self._architecture = architecture
        self._folder = folder or cache_folder()

    def compile(self, module: str) -> bytes:
        """The machine code (a cubin) of `cu/<module>.cu`.

        Raises:
            UnavailableError: NVRTC is not installed.
            InternalError: it refuses the source.
        """
        path = self._folder / f"{module}-{self._key(module)}.cubin"
        try:
            return path.read_bytes()
        except OSError:
            pass
        binary = nvrtc().compile(sources.source_of(module), f"{module}.cu", self._options)
        _write(path, binary)
        return binary

    @property
    def _options(self) -> list[str]:
        return ["--std=c++17", f"--gpu-architecture={self._architecture}"]

    def _key(self, module: str) -> str:
        """What the machine code depends on."""
        digest = hashlib.sha256()
        for text in (
            nvrtc().version,
            *self._options,
            sources.source_of(module),
            *(part for header in sources.headers().items() for part in header),
        ):
            digest.update(text.encode() + b"\0")
        return digest.hexdigest()[:32]


def _write(path: Path, binary: bytes) -> None:
    """Puts a file where others may look for it at any time; a cache that cannot be written to is
    none."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(binary)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()


@lru_cache(maxsize=1)
def nvrtc() -> "Nvrtc":
    """NVRTC, from a Python package of NVIDIA's or the system.

    Raises:
        UnavailableError: it is not installed.
    """
    for path in _candidates():
        try:
            return Nvrtc(ctypes.CDLL(path))
        except OSError:
            continue
    raise UnavailableError(
        "expected NVRTC, which compiles the kernels, got no libnvrtc: "
        "pip install nvidia-cuda-nvrtc-cu12, or install the CUDA toolkit"
    )


def _candidates() -> Iterator[str]:
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        yield from map(str, sorted(Path(folder).glob("*/lib/libnvrtc.so*"), reverse=True))
    found = find_library("nvrtc")
    if found:
        yield found


class Nvrtc:
    """The library, by its C interface."""

    def __init__(self, library: Any) -> None:
        self._library = library

    @cached_property
    def version(self) -> str:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        return f"{major.value}.{minor.value}"

    def compile(self, source: str, name: str, options: list[str]) -> bytes:
        """The machine code of a source that may include the headers of `cu/`.

        Raises:
            InternalError: the source is refused; the message is the compiler's.
        """
        headers = sources.headers()
        program = ctypes.c_void_p()
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            source.encode(),
            name.encode(),
            len(headers),
            _strings(headers.values()),
            _strings(headers),
        )
        try:
            result = self._library.nvrtcCompileProgram(program, len(options), _strings(options))
            if result != 0:
                log = self._text(program, "nvrtcGetProgramLog").decode(errors="replace")
                raise InternalError(f"expected {name} to compile, got {log.strip()}")
            return self._text(program, "nvrtcGetCUBIN", "nvrtcGetCUBINSize")
        finally:
            self._call("nvrtcDestroyProgram", ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, get: str, get_size: str = "") -> bytes:
        size = ctypes.c_size_t()
        self._call(get_size or f"{get}Size", program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        self._call(get, program, buffer)
        return buffer.raw

    def _call(self, function: str, *arguments: Any) -> None:
        result = getattr(self._library, function)(*arguments)
        if result != 0:
            raise InternalError(f"expected {function} to succeed, got NVRTC's error {result}")


def _strings(texts: Any) -> Any:
    encoded = [text.encode() for text in texts]
    return (ctypes.c_char_p * len(encoded))(*encoded)
