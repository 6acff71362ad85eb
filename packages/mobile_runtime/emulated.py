"""Programs for phones on this machine, under qemu, for tests."""

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# By the phones' processors; of Debian's qemu-user-static.
_EMULATORS = {"aarch64": "qemu-aarch64-static", "armv7": "qemu-arm-static"}
PHONES = tuple(_EMULATORS)


def emulator(phone: str) -> str | None:
    """The program that runs a phone's programs; None where it is not installed."""
    return shutil.which(_EMULATORS[phone])


def idx(array: Array) -> bytes:
    """An IDX file of uint8."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@dataclass(frozen=True)
class Run:
    """What a program did.

    Attributes:
        status: its exit status.
        output, errors: what it wrote.
        classes: int64 [images], its predictions; none where it failed.
    """

    status: int
    output: str
    errors: str
    classes: Array


def run_model(
    phone: str,
    program: Path,
    model: Path,
    images: Array,
    labels: Array,
    timeout_s: float = 100,
) -> Run:
    """Classifies images, uint8 [n, ...], by a model with `run_model` or a program like it; files
    for it and of it are beside the model.

    Raises:
        FileNotFoundError: there is no emulator.
        subprocess.TimeoutExpired: it takes longer.
    """
    emulated_by = emulator(phone)
    if emulated_by is None:
        raise FileNotFoundError(f"no {_EMULATORS[phone]}: install qemu-user-static")
    files = {
        name: model.with_name(f"{model.name}.{phone}.{name}")
        for name in ("images", "labels", "predictions")
    }
    files["images"].write_bytes(idx(images))
    files["labels"].write_bytes(idx(labels))
    files["predictions"].unlink(missing_ok=True)
    done = subprocess.run(
        [emulated_by, program, model, *(f"--{name}={path}" for name, path in files.items())],
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    predictions = files["predictions"]
    lines = predictions.read_text().split() if predictions.exists() else []
    return Run(done.returncode, done.stdout, done.stderr, np.array(lines, np.int64))
