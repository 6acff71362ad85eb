"""Closing variables waits for who replaces a value, and leaves none behind."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from qanat.core import dtypes
from qanat.core.errors import CancelledError, FailedPreconditionError, InvalidArgumentError
from qanat.core.shapes import TensorShape
from qanat.kernels_cuda.device import DeviceArray, Gpu
from qanat.kernels_cuda.emulator.driver import EmulatedDriver
from qanat.kernels_cuda.variables import Variable, Variables

CLOSED = "the session was closed"
SHAPE = TensorShape([100])


@pytest.fixture
def gpu() -> Iterator[Gpu]:
    made = Gpu(EmulatedDriver())
    with made.driver.active():
        yield made


@pytest.fixture
def variables() -> Variables:
    return Variables()


@pytest.fixture
def variable(variables: Variables) -> Variable:
    return variables.get("", "v", dtypes.float32, SHAPE)


def value(gpu: Gpu) -> DeviceArray:
    return gpu.empty([100], dtypes.float32)


def used(gpu: Gpu) -> int:
    return gpu.pool.reserved - gpu.pool.idle


def test_a_name_is_one_variable(variables: Variables, variable: Variable) -> None:
    assert variables.get("", "v", dtypes.float32, SHAPE) is variable
    assert variables.get("other", "v", dtypes.float32, SHAPE) is not variable
    with pytest.raises(InvalidArgumentError, match="expected 'v' to be of .*float64"):
        variables.get("", "v", dtypes.float64, SHAPE)


def test_a_value_is_what_was_assigned_last(gpu: Gpu, variable: Variable) -> None:
    assert not variable.is_initialized
    with pytest.raises(FailedPreconditionError, match="'v' to be initialized"):
        variable.read()
    for last in (value(gpu), value(gpu)):
        variable.assign(last)
    assert variable.is_initialized and variable.read() is last


def test_a_closed_variable_says_why_it_has_no_value(
    gpu: Gpu, variables: Variables, variable: Variable
) -> None:
    variable.assign(value(gpu))
    variables.close()
    with pytest.raises(CancelledError, match=CLOSED):
        variable.read()
    with pytest.raises(CancelledError, match=CLOSED):
        assert variable.is_initialized


def test_a_closed_variable_keeps_no_value(
    gpu: Gpu, variables: Variables, variable: Variable
) -> None:
    variable.assign(value(gpu))
    variables.close()
    variable.assign(value(gpu))
    assert used(gpu) == 0


def test_no_variable_is_made_once_they_are_closed(variables: Variables) -> None:
    variables.close()
    with pytest.raises(CancelledError, match=CLOSED):
        variables.get("", "w", dtypes.float32, SHAPE)


def test_closing_waits_for_who_replaces_a_value(
    gpu: Gpu, variables: Variables, variable: Variable
) -> None:
    """Between reading and replacing it neither is the value gone nor is the next one kept."""
    variable.assign(value(gpu))
    begun = threading.Event()

    def close() -> None:
        begun.set()
        variables.close()

    with ThreadPoolExecutor(1) as pool:
        with variable.lock:
            before = variable.read()
            closing = pool.submit(close)
            assert begun.wait(10)
            with pytest.raises(TimeoutError):
                closing.result(0.1)
            assert variable.read() is before
            variable.assign(value(gpu))
        closing.result(10)
    del before
    assert used(gpu) == 0
