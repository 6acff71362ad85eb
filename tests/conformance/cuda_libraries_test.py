"""The cases of products and convolutions with cuBLAS and cuDNN, which are what their documentation
says, by NumPy: what is asked of them has NumPy's values, and they do the work that they take."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat import kernels_cuda, ops
from qanat.autodiff import compute_gradient
from qanat.core.kernel_table import KernelTable
from qanat.core.testing import sweep
from qanat.core.testing.case import Case
from qanat.kernels_cuda import cublas, cudnn_graphs
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.emulator.fake_cublas import FakeCublas
from qanat.kernels_cuda.emulator.fake_cudnn import FakeCudnn
from qanat.kernels_cuda.kernel import kernel_keys

BY_LIBRARIES = {"MatMul", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"}
NODES = ("conv_fprop", "conv_dgrad", "conv_wgrad")
# Our own kernels for the same.
OURS = ("matmul_", "conv2d_")

TABLE = KernelTable({"GPU": kernel_keys()})
TRIED = [
    (case, dtype)
    for case, dtype in sweep.tried(sweep.find_cases(ops), TABLE, "GPU")
    if BY_LIBRARIES & set(case.ops())
]
CASES = list({id(case): case for case, _ in TRIED}.values())


def with_libraries(**how: Any) -> EmulatedDriver:
    return EmulatedDriver(
        libraries={
            cublas.MODULE: lambda driver: FakeCublas(driver, refuses=bool(how)),
            cudnn_graphs.MODULE: lambda driver: FakeCudnn(driver, **how),
        }
    )


@pytest.fixture(scope="module")
def driver() -> Iterator[EmulatedDriver]:
    made = with_libraries()
    with kernels_cuda.DEVICES.using(made):
        yield made
    made.check_memory()


def ours(driver: EmulatedDriver) -> int:
    """How many of our own kernels were launched."""
    return sum(driver.launched[name] for name in driver.launched if name.startswith(OURS))


@pytest.mark.parametrize(("case", "dtype"), TRIED, ids=sweep.name_of)
def test_value(case: Case, dtype: Any, driver: EmulatedDriver) -> None:
    before = ours(driver)
    sweep.check_value(case, dtype)
    built = sweep.build(case, dtype)
    if all(np.size(array) for array in built.arrays) and all(v.size for v in built.run()):
        assert ours(driver) == before, "expected the libraries to do it"


@pytest.mark.parametrize("case", [*filter(sweep.has_gradient, CASES)], ids=sweep.name_of)
def test_gradient(case: Case, driver: EmulatedDriver) -> None:
    sweep.check_gradient(case, compute_gradient)
    driver.check_memory()


@pytest.mark.parametrize("how", [{"refuses": NODES}, {"fails": NODES}], ids=str)
def test_what_they_do_not_take_is_ours(how: dict[str, Any]) -> None:
    driver = with_libraries(**how)
    with kernels_cuda.DEVICES.using(driver):
        for case, dtype in TRIED:
            sweep.check_value(case, dtype)
    assert ours(driver) >= len(TRIED) // 2  # some cases have nothing to compute
    driver.check_memory()
