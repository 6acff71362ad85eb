"""Tests run on the emulator unless a real GPU is asked for."""

import sys
from typing import Any

import numpy as np
import pytest

from qanat.kernels_cuda.emulator import chosen
from qanat.kernels_cuda.emulator.chosen import CountedDriver, chosen_driver
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.pycuda_driver import NoGpu


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is chosen where a real GPU is asked for, for which the emulator stands."""
    monkeypatch.setenv(chosen.VARIABLE, "1")
    monkeypatch.setattr(chosen, "drivers", lambda: [EmulatedDriver()])
    return chosen_driver()


def test_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(chosen.VARIABLE, raising=False)
    assert isinstance(chosen_driver(backwards=True), EmulatedDriver)


def test_a_real_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(chosen.VARIABLE, "1")
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(NoGpu, match="no GPU: PyCUDA is not installed"):
        chosen_driver()


def test_a_real_gpu_counts_its_calls(driver: Any) -> None:
    assert isinstance(driver, CountedDriver)
    with driver.active():
        assert driver.allocate(100) and driver.processors == 4 and driver.stream()
    assert driver.calls == {"active": 1, "allocate": 1, "stream": 1}


def test_the_work_of_all_streams_is_waited_for(driver: Any) -> None:
    host = np.arange(16, dtype=np.uint8)
    copies = [np.zeros_like(host) for _ in range(2)]
    with driver.active():
        for copy in copies:
            address, stream = driver.allocate(host.size), driver.stream()
            driver.upload(address, host, stream)
            driver.download(copy, address, stream)
    driver.check_memory()
    for copy in copies:
        np.testing.assert_array_equal(copy, host)
