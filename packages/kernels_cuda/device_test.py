"""Arrays, launches and transfers, on a driver that runs work as late as it may."""

import struct
from collections.abc import Iterator

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.kernels_cuda.device import DeviceArray, Gpu, pack
from qanat.kernels_cuda.emulator.driver import EmulatedDriver


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    driver = EmulatedDriver()
    made = Gpu(driver)
    with driver.active():
        yield made
    driver.check_memory()


def driver_of(gpu: Gpu) -> EmulatedDriver:
    assert isinstance(gpu.driver, EmulatedDriver)
    return gpu.driver


def doubled(gpu: Gpu, x: DeviceArray) -> DeviceArray:
    out = gpu.empty(x.shape, x.dtype)
    shape = struct.pack("<26q", x.size, 1, x.size, *[0] * 7, 1, *[0] * 7, 1, *[0] * 7)
    gpu.launch("pointwise", "Add_float32", gpu.blocks(x.size), out, x, x, shape)
    return out


def test_what_goes_up_comes_down(gpu: Gpu) -> None:
    for array in (np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.float32(4), np.array([True])):
        (back,) = gpu.download([gpu.upload(np.asarray(array))])
        assert back.dtype == array.dtype and back.shape == array.shape
        np.testing.assert_array_equal(back, array)


def test_work_is_in_order_though_nobody_waits(gpu: Gpu) -> None:
    x = gpu.upload(np.ones(1000, np.float32))
    for _ in range(5):
        x = doubled(gpu, x)
    calls = driver_of(gpu).calls
    assert calls["launch"] == 5 and calls["synchronise"] == 0
    np.testing.assert_array_equal(gpu.download([x])[0], np.full(1000, 32, np.float32))
    # Once for the page-locked memory that the upload used, once for the download.
    assert calls["synchronise"] == 2


def test_memory_that_is_used_again_keeps_what_is_still_to_be_read(gpu: Gpu) -> None:
    results = []
    for value in range(4):
        x = gpu.upload(np.full(1000, value, np.float32))
        results.append(doubled(gpu, x))
        del x  # its memory is what the next upload gets, and the copies come before the kernel
    for value, result in enumerate(gpu.download(results)):
        np.testing.assert_array_equal(result, np.full(1000, 2 * value, np.float32))
    assert driver_of(gpu).calls["allocate"] == 5


def test_many_come_down_with_one_wait(gpu: Gpu) -> None:
    arrays = [gpu.upload(np.full(3, value)) for value in range(5)]
    waits = driver_of(gpu).calls["synchronise"]
    for value, back in enumerate(gpu.download(arrays)):
        np.testing.assert_array_equal(back, np.full(3, value))
    assert driver_of(gpu).calls["synchronise"] <= waits + 1 + len(arrays)
    assert driver_of(gpu).calls["download"] == 5


def test_nothing_is_launched_over_nothing(gpu: Gpu) -> None:
    x = gpu.upload(np.zeros(0, np.float32))
    assert gpu.download([doubled(gpu, x)])[0].shape == (0,)
    assert driver_of(gpu).calls["launch"] == 0


def test_parameters_take_eight_bytes_each(gpu: Gpu) -> None:
    x = gpu.empty((2,), dtypes.float32)
    packed = pack(x, None, 7, 0.5, struct.pack("<2q", 1, 2))
    assert struct.unpack("<QQqdqq", packed) == (x.block.address, 0, 7, 0.5, 1, 2)


def test_a_launch_whose_parameters_do_not_fit_is_refused(gpu: Gpu) -> None:
    gpu.launch("pointwise", "Abs_float32", (1,), gpu.empty((2,), dtypes.float32))
    with pytest.raises(AssertionError, match="Abs_float32: parameters of another size"):
        driver_of(gpu).check_memory()
    gpu.download([])
