"""The sources of the kernels, `cu/*.cu`, and what their tables say."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "cu"


def modules() -> list[str]:
    """The names of all sources."""
    return sorted(path.stem for path in FOLDER.glob("*.cu"))


def source_of(module: str) -> str:
    """The text of `cu/<module>.cu`."""
    return (FOLDER / f"{module}.cu").read_text()


@lru_cache(maxsize=1)
def headers() -> Mapping[str, str]:
    """The text of each header, by the name that it is included by."""
    return {path.name: path.read_text() for path in sorted(FOLDER.glob("*.cuh"))}


@lru_cache(maxsize=1)
def pointwise_ops() -> Mapping[str, Sequence[str]]:
    """The ops of the tables UNARY, BINARY and COMPARISON of `cu/pointwise.cuh`, in their order."""
    text = headers()["pointwise.cuh"]
    tables = re.findall(r"#define QANAT_(\w+)\(X\)((?:.*\\\n)+.*\n)", text)
    return {name: re.findall(r"\bX\((\w+),", body) for name, body in tables}
