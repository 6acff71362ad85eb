"""Kernels in Python run as any other, and what goes wrong in them is the step's failure."""

import errno
import gc
import threading
import weakref
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pytest

from qanat.core import dtypes, errors
from qanat.core.base_ops import placeholder
from qanat.core.dtypes import DType
from qanat.core.graph import Graph, Output
from qanat.core.op_def import In, Shapes, op
from qanat.core.python_kernel import empty, python_kernel
from qanat.core.session import Session
from qanat.core.shapes import UNKNOWN

Array = np.ndarray[Any, Any]
T = Annotated[In, "T"]


@op("TestScale", outputs="y: T", differentiable=False, T=dtypes.REAL)
def scale(x: T, *, factor: int = 2) -> Shapes:
    return [x.shape]


@python_kernel("TestScale", types={"T": dtypes.float32})
def _(x: Array, *, factor: int) -> Array:
    return x * np.float32(factor)


@op("TestCall", outputs="y: Tout", stateful=True, differentiable=False, Tin=dtypes.ALL)
def call(inputs: Annotated[list[In], "Tin"], *, function: int, Tout: Sequence[DType]) -> Shapes:
    return [UNKNOWN] * len(Tout)


functions: list[Any] = []


@python_kernel("TestCall")
def _(*inputs: Any, function: int) -> Any:
    return functions[function](*inputs)


def calling(function: Any, inputs: Sequence[Any], *outputs: DType) -> list[Output]:
    functions.append(function)
    made: list[Output] = call(list(inputs), function=len(functions) - 1, Tout=outputs)
    return made


@pytest.fixture(autouse=True)
def session() -> Any:
    with Graph().as_default(), Session() as session:
        yield session


def test_inputs_attrs_and_output(session: Any) -> None:
    x = placeholder(dtypes.float32, [None])
    given = session.run(scale(x, factor=3), {x: np.array([1, 2], np.float32)})
    assert given.dtype == np.float32
    np.testing.assert_array_equal(given, [3, 6])


def test_only_the_types_it_is_for(session: Any) -> None:
    with pytest.raises(errors.UnimplementedError, match="that exist: CPU: T=float32"):
        session.run(scale(np.array([1.0])))


def test_a_second_kernel_for_such_nodes() -> None:
    with pytest.raises(errors.AlreadyExistsError, match="two"):
        python_kernel("TestScale", types={"T": dtypes.float32})(lambda x: x)


@pytest.mark.parametrize("dtype", sorted(dtypes.ALL - {dtypes.resource}, key=str))
def test_every_dtype_comes_and_goes(session: Any, dtype: DType) -> None:
    value = np.array([b"a", b"\0"], object) if dtype.kind == "S" else np.ones(2, dtype.as_numpy)
    seen = []

    def function(x: Array, scalar: Any) -> Any:
        seen.append((x, scalar))
        return x, scalar

    outputs = calling(function, [value, value[0]], dtype, dtype)
    array, scalar = session.run(outputs)
    assert array.dtype == dtype.as_numpy and seen[0][0].dtype == dtype.as_numpy
    np.testing.assert_array_equal(array, value)
    assert scalar == value[0] and seen[0][1] == value[0]


@pytest.mark.parametrize(
    ("result", "got"),
    [
        (np.ones((2, 2), np.float32), r"of shape \[3\], as its shape function said, got \[2, 2\]"),
        (np.ones(2, np.float32), r"of shape \[3\], as its shape function said, got \[2\]"),
        (np.float32(1), r"of shape \[3\], as its shape function said, got \[\]"),
        (np.ones(3), "of float32, got a NumPy array of float64"),
    ],
)
def test_an_output_is_as_the_graph_knows_it(session: Any, result: Any, got: str) -> None:
    (y,) = calling(lambda: [result], [], dtypes.float32)
    y.set_shape([3])
    with pytest.raises(errors.InternalError, match=rf"\[TestCall\] expected an output {got}"):
        session.run(y)
    functions[-1] = lambda: [np.ones(3, np.float32)]
    assert session.run(y).shape == (3,)


def test_no_outputs_and_none_inputs(session: Any) -> None:
    ran = []
    calling(lambda: ran.append(1), [])
    session.run(session.graph.get_operations()[-1])
    assert ran == [1]


def test_an_input_may_be_kept_and_not_written(session: Any) -> None:
    kept: list[Array] = []
    x = placeholder(dtypes.float32, [None])

    def keep(array: Array) -> list[Array]:
        kept.append(array)
        return [array]

    (y,) = calling(keep, [x], dtypes.float32)
    fed = np.arange(5000, dtype=np.float32)
    given = session.run(y, {x: fed})
    fed[:] = -1
    given[:] = -2
    assert kept[0][4999] == 4999 and not kept[0].flags.writeable


def test_an_empty_array_is_the_output_itself(session: Any) -> None:
    made = []

    def function() -> list[Array]:
        made.append(empty(dtypes.float64, [3, 1000]))
        made[0][:] = 7
        return made

    given = session.run(calling(function, [], dtypes.float64)[0])
    assert given.shape == (3, 1000) and np.all(given == 7)
    made.append(empty(dtypes.int32, []))
    assert made[1].shape == ()


def test_empty_refuses() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="plain dtype"):
        empty(dtypes.string, [1])
    with pytest.raises(errors.InvalidArgumentError, match="rank 8"):
        empty(dtypes.float32, [1] * 9)
    with pytest.raises(errors.ResourceExhaustedError, match="memory"):
        empty(dtypes.float32, [1 << 60])


def failing(error: BaseException) -> Any:
    def function() -> Any:
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ValueError("expected 1, got 2"), errors.InvalidArgumentError, r"^\[TestCall\] expected 1"),
        (errors.DataLossError("[Read] bad"), errors.DataLossError, r"^\[TestCall\] bad \(node"),
        (FileNotFoundError(errno.ENOENT, "none"), errors.NotFoundError, "none"),
        (OSError(errno.ENOSPC, "full"), errors.ResourceExhaustedError, "full"),
        (OSError(errno.EIO, "broken"), errors.UnknownError, "broken"),
        (MemoryError(), errors.ResourceExhaustedError, "MemoryError"),
        (ZeroDivisionError("x"), errors.UnknownError, "ZeroDivisionError: x"),
    ],
)
def test_exceptions(session: Any, error: Exception, kind: Any, message: str) -> None:
    (y,) = calling(failing(error), [], dtypes.float32)
    with pytest.raises(kind, match=message) as raised:
        session.run(y)
    assert raised.value.op is y.op and "python_kernel_test.py" in str(raised.value.user_line)


def test_an_interrupt_ends_the_step_as_itself(session: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        session.run(calling(failing(KeyboardInterrupt()), [], dtypes.float32)[0])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([], "expected 1 outputs, got 0"),
        ([np.float64(1)], "expected an output of float32, got"),
        (["text"], "expected an output of float32, got"),
    ],
)
def test_what_is_no_output(session: Any, result: Any, message: str) -> None:
    with pytest.raises(errors.InternalError, match=message):
        session.run(calling(lambda: result, [], dtypes.float32)[0])


def test_strings_that_are_none(session: Any) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="expected an array of bytes, got int"):
        session.run(calling(lambda: [np.array([1], object)], [], dtypes.string)[0])


def test_many_threads(session: Any) -> None:
    x = placeholder(dtypes.float32, [None])
    y = scale(x)
    wrong = []

    def work(value: float) -> None:
        for _ in range(50):
            given = session.run(y, {x: np.full(10, value, np.float32)})
            if not np.all(given == 2 * value):
                wrong.append(given)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_a_function_that_holds_its_session_is_freed_with_it() -> None:
    class Witness:
        """Something to be freed."""

    def run_once() -> Any:
        witness = Witness()
        with Graph().as_default(), Session() as own:
            holder: list[Any] = [witness]
            functions.append(lambda: (holder, [np.float32(1)])[1])
            y = call([], function=len(functions) - 1, Tout=[dtypes.float32])
            run = own.prepare(y)
            holder.append(run)
            run()
        functions[-1] = None
        return weakref.ref(witness)

    freed = run_once()
    gc.collect()
    assert freed() is None
