"""Where there is no GPU, there is a reason, and it is one line."""

import importlib
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from qanat import kernels_cuda
from qanat.core.base_ops import constant, identity
from qanat.core.errors import InvalidArgumentError, UnavailableError
from qanat.core.graph import Graph, Output, device
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.kernels_cuda import pycuda_driver
from qanat.kernels_cuda.library import CudaLibrary


def installed(monkeypatch: pytest.MonkeyPatch, driver: ModuleType | None) -> None:
    """PyCUDA as some module, or not at all."""
    package = None if driver is None else ModuleType("pycuda")
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)


def pycuda(**members: Any) -> ModuleType:
    driver = ModuleType("pycuda.driver")
    driver.__dict__.update(Error=type("Error", (Exception,), {}), init=lambda: None, **members)
    return driver


def without_devices() -> ModuleType:
    return pycuda(Device=type("Device", (), {"count": staticmethod(lambda: 0)}))


def that_fails() -> ModuleType:
    driver = pycuda()

    def init() -> None:
        raise driver.Error("cuInit failed: no CUDA-capable device is detected\nmore")

    driver.init = init  # type: ignore[attr-defined]
    return driver


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (None, "no GPU: PyCUDA is not installed (pip install pycuda)"),
        (without_devices(), "no GPU: CUDA's driver finds none"),
        (
            that_fails(),
            "no GPU: CUDA's driver finds none (cuInit failed: no CUDA-capable device is detected)",
        ),
    ],
    ids=["not installed", "no device", "error"],
)
def test_absence(driver: ModuleType | None, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, driver)
    assert CudaLibrary().absence() == reason


def test_pycuda_without_the_drivers_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ImportError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(importlib, "import_module", fail)
    reason = "no GPU: CUDA's driver is not installed (libcuda.so.1: cannot open shared object file)"
    assert CudaLibrary().absence() == reason


def test_a_gpu_that_another_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Device:
        def __init__(self, index: int) -> None:
            pass

        @staticmethod
        def count() -> int:
            return 1

        def retain_primary_context(self) -> None:
            raise driver.Error("exclusive (this device is already in use)")

    driver = pycuda(Device=Device)
    installed(monkeypatch, driver)
    monkeypatch.setattr(pycuda_driver, "nvrtc", lambda: None)
    reason = "no GPU can be used (exclusive (this device is already in use))"
    assert CudaLibrary().absence() == reason


def test_a_gpu_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def nvrtc() -> None:
        raise UnavailableError("expected NVRTC, found none")

    installed(monkeypatch, pycuda(Device=type("Device", (), {"count": staticmethod(lambda: 1)})))
    monkeypatch.setattr(pycuda_driver, "nvrtc", nvrtc)
    assert CudaLibrary().absence() == "no GPU can be used: expected NVRTC, found none"


def test_nothing_of_cuda_is_imported_before_it_is_asked_for() -> None:
    """Nor what imports it: each has to be found and loaded, which takes long."""
    script = """
import sys
import qanat.kernels_cuda
print(*sorted({"pycuda", "nvmath", "cudnn", "qanat.kernels_cuda.device"} & set(sys.modules)))
"""
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    imported = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert imported.stdout == "\n"


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> Output:
    """A value that is asked of a GPU, where there is none."""
    monkeypatch.setattr(kernels_cuda, "DEVICES", CudaLibrary())
    installed(monkeypatch, None)
    with Graph().as_default(), device("/device:GPU:0"):
        return identity(constant([1.0]))


def test_a_step_for_a_gpu_says_why_there_is_none(on_gpu: Output) -> None:
    with Session(graph=on_gpu.graph) as session:
        with pytest.raises(InvalidArgumentError) as caught:
            session.run(on_gpu)
    message = str(caught.value)
    assert "got 'Const' on /device:GPU:0 (no GPU: PyCUDA is not installed" in message
    assert "allow_soft_placement=True" in message and "library_test.py:" in message


def test_soft_placement_runs_it_on_the_cpu(on_gpu: Output) -> None:
    config = SessionConfig(allow_soft_placement=True)
    with Session(graph=on_gpu.graph, config=config) as session:
        assert session.run(on_gpu) == [1.0]
