"""All ops with a kernel for GPUs, run by the emulator, or on a real GPU where QANAT_TEST_GPU is 1:
the values are NumPy's, the shapes those of the graph, and what does not fit is refused."""

from collections.abc import Iterator
from typing import Any

import pytest

from qanat import kernels_cuda, ops
from qanat.autodiff import compute_gradient
from qanat.core.errors import OpError, ShapeError
from qanat.core.kernel_table import KernelTable
from qanat.core.op_def import OpBuilder
from qanat.core.testing import sweep
from qanat.core.testing.case import Case, Misuse
from qanat.kernels_cuda.emulator.chosen import chosen_driver, on_real_gpu
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.kernel import kernel_keys
from qanat.kernels_cuda.pycuda_driver import NoGpu

TABLE = KernelTable({"GPU": kernel_keys()})
TRIED = sweep.tried(sweep.find_cases(ops), TABLE, "GPU")
TRIED_ONCE = list({id(case): (case, dtype) for case, dtype in reversed(TRIED)}.values())
CASES = [case for case, _ in TRIED_ONCE]
MISUSES = list(sweep.misuses(CASES))
IN_THE_STEP = [(case, misuse) for case, misuse in MISUSES if issubclass(misuse.error, OpError)]
LATE = [
    (case, misuse)
    for case, misuse in MISUSES
    if issubclass(misuse.error, ShapeError) and isinstance(case.op, OpBuilder)
]
# Convolutions, pools, products and losses; the others are made of pointwise ops and sums.
GRADIENTS = [
    case
    for case in CASES
    if sweep.has_gradient(case)
    and any(word in case.name for word in ("Conv2D", "Pool", "MatMul", "Softmax"))
]


def used(**how: Any) -> Iterator[EmulatedDriver]:
    """A driver whose device new sessions see; a real GPU's does all that is asked of it here."""
    try:
        made = chosen_driver(**how)
    except NoGpu as error:
        pytest.skip(str(error))
    with kernels_cuda.DEVICES.using(made):
        yield made
    made.check_memory()


@pytest.fixture(scope="module", params=["forwards"] if on_real_gpu() else ["forwards", "backwards"])
def driver(request: pytest.FixtureRequest) -> Iterator[EmulatedDriver]:
    """The threads of a block take turns in either order: a barrier that is missing shows in one."""
    yield from used(backwards=request.param == "backwards")


@pytest.mark.parametrize(("case", "dtype"), TRIED, ids=sweep.name_of)
def test_value(case: Case, dtype: Any, driver: EmulatedDriver) -> None:
    before = driver.calls["active"]
    sweep.check_value(case, dtype)
    kinds = {op.type for op in sweep.build(case, dtype).graph.get_operations()} - {"Placeholder"}
    assert driver.calls["active"] > before or not kinds, "expected the case to run on the GPU"


@pytest.fixture(scope="module")
def emulated() -> Iterator[EmulatedDriver]:
    """One order of the threads is enough for what is about shapes."""
    yield from used()


@pytest.mark.parametrize("case", GRADIENTS, ids=sweep.name_of)
def test_gradient(case: Case, emulated: EmulatedDriver) -> None:
    sweep.check_gradient(case, compute_gradient)
    emulated.check_memory()


@pytest.mark.parametrize(
    ("case", "dtype"),
    [(case, dtype) for case, dtype in TRIED_ONCE if sweep.works_knowing(case, "nothing")],
    ids=sweep.name_of,
)
def test_unknown_shapes(case: Case, dtype: Any, emulated: EmulatedDriver) -> None:
    sweep.check_unknown_shapes(case, dtype, "nothing")


@pytest.mark.parametrize(("case", "misuse"), IN_THE_STEP, ids=sweep.name_of)
def test_misuse(case: Case, misuse: Misuse, emulated: EmulatedDriver) -> None:
    sweep.check_misuse(case, misuse)


@pytest.mark.parametrize(("case", "misuse"), LATE, ids=sweep.name_of)
def test_late_misuse(case: Case, misuse: Misuse, emulated: EmulatedDriver) -> None:
    """What no shape function has seen is refused, and no memory touched but a kernel's own."""
    sweep.check_late_misuse(case, misuse)
    emulated.check_memory()
