"""Products by cuBLAS are those of the matrices, and whoever cannot use it has none."""

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.dtypes import DType
from qanat.kernels_cuda import cublas, libraries
from qanat.kernels_cuda.device import DeviceArray, Gpu
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.emulator.fake_cublas import FakeCublas


def gpu_with(library: Any) -> Gpu:
    return Gpu(EmulatedDriver(libraries={cublas.MODULE: library}))


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    made = gpu_with(FakeCublas)
    with made.driver.active():
        yield made
    made.driver.check_memory()  # type: ignore[attr-defined]


def multiply(gpu: Gpu, out: DeviceArray, a: DeviceArray, b: DeviceArray, *how: bool) -> bool:
    assert gpu.cublas is not None
    return gpu.cublas.multiply(out, a, b, *how)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("extent", [(3, 5, 7), (1, 4, 1), (6, 1, 2)])
def test_products(
    gpu: Gpu, extent: Any, transpose_a: bool, transpose_b: bool, dtype: DType
) -> None:
    rows, columns, depth = extent
    generator = np.random.default_rng(0)
    a, b = (generator.normal(size=size) for size in ((rows, depth), (depth, columns)))
    given = [
        gpu.upload((x.T if transposed else x).astype(dtype.as_numpy))
        for x, transposed in ((a, transpose_a), (b, transpose_b))
    ]
    out = gpu.empty((rows, columns), dtype)
    assert multiply(gpu, out, given[0], given[1], transpose_a, transpose_b)
    np.testing.assert_allclose(gpu.download([out])[0], a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("extent", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (2**31, 1, 1)])
def test_what_is_not_for_cublas(gpu: Gpu, extent: tuple[int, int, int]) -> None:
    rows, columns, depth = extent
    block = gpu.empty((1,), dtypes.float32).block
    out, a, b = (
        DeviceArray(block, shape, dtypes.float32)
        for shape in ((rows, columns), (rows, depth), (depth, columns))
    )
    assert not multiply(gpu, out, a, b, False, False)


def test_what_cublas_refuses() -> None:
    gpu = gpu_with(lambda driver: FakeCublas(driver, refuses=True))
    with gpu.driver.active():
        one = gpu.upload(np.ones((1, 1), np.float32))
        assert not multiply(gpu, one, one, one, False, False)


def test_a_library_that_does_not_load(caplog: pytest.LogCaptureFixture) -> None:
    def fails(driver: EmulatedDriver) -> Any:
        raise RuntimeError("libcublas.so.12: cannot open shared object file\nand more")

    caplog.set_level(logging.INFO)
    assert gpu_with(fails).cublas is None
    assert "cublas is not used: libcublas.so.12: cannot open shared object file" in caplog.messages
    assert "cudnn is not used: it is not emulated" in caplog.messages


@pytest.mark.parametrize(
    ("names", "used"),
    [
        ("cublas", True),
        ("cudnn,cublas", True),
        (" cudnn, cublas ", True),
        ("", False),
        ("cudnn", False),
    ],
)
def test_users_may_refuse_it(
    names: str,
    used: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv(libraries.VARIABLE, names)
    assert (gpu_with(FakeCublas).cublas is not None) == used
    expected = "cublas is used" if used else f"cublas is not used: {libraries.VARIABLE} does not"
    assert caplog.messages[0].startswith(expected)
