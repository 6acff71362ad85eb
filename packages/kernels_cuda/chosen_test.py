"""Tests run on the emulator unless a real GPU is asked for."""

import sys

import pytest

from qanat.kernels_cuda.emulator import chosen
from qanat.kernels_cuda.emulator.chosen import CountedDriver, chosen_driver
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.pycuda_driver import NoGpu


def test_the_emulator() -> None:
    assert isinstance(chosen_driver(backwards=True), EmulatedDriver)


def test_a_real_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chosen.VARIABLE, "1")
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(NoGpu, match="no GPU: PyCUDA is not installed"):
        chosen_driver()


def test_a_real_gpu_counts_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chosen.VARIABLE, "1")
    monkeypatch.setattr(chosen, "drivers", lambda: [EmulatedDriver()])
    driver = chosen_driver()
    assert isinstance(driver, CountedDriver)
    with driver.active():
        assert driver.allocate(100) and driver.processors == 4
    assert driver.calls == {"active": 1, "allocate": 1}
    driver.check_memory()
