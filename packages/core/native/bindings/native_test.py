"""The native module: values across the border, errors, interrupts, threads."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import qanat.core
from qanat.core import _native

FLOAT32, FLOAT64, INT32, STRING, INT64, BOOL, RESOURCE = 1, 2, 3, 7, 9, 10, 20
LIBRARY = Path(qanat.core.__file__).parent / "native/executor/loadable_test_kernels.so"
NUMBERS = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "complex64": 8,
    "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18, "float16": 19,
    "uint32": 22, "uint64": 23,
}  # fmt: skip


def numpy_type(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


@pytest.fixture(autouse=True, scope="module")
def library() -> None:
    _native.load_kernel_library(str(LIBRARY))


@pytest.fixture(params=[1, 3])
def runtime(request: pytest.FixtureRequest) -> Iterator[_native.Runtime]:
    yield _native.Runtime(request.param, _native.Resources())


def arg(index: int = 0, dtype: int = FLOAT32) -> Any:
    return (f"arg{index}", "_Arg", [], [], {"index": index}, [dtype])


def const(value: Any, dtype: int = FLOAT32) -> Any:
    return ("const", "Const", [], [], {"value": np.asarray(value)}, [dtype])


def add(x: int, y: int, controls: Sequence[int] = ()) -> Any:
    types = {"T": ("type", FLOAT32)}
    return ("add", "TestAdd", [(x, 0), (y, 0)], list(controls), types, [FLOAT32])


def sleep(ms: int, *inputs: int) -> Any:
    return ("sleep", "TestSleep", [(i, 0) for i in inputs], [], {"ms": ms}, [FLOAT32])


def handle(name: str) -> Any:
    attrs = {"name": name.encode(), "dtype": ("type", FLOAT32)}
    return ("handle", "TestHandle", [], [], attrs, [RESOURCE])


def identity(runtime: _native.Runtime, dtype: int) -> _native.Executable:
    return _native.Executable(runtime, [arg(0, dtype)], [(0, 0)], [])


def sum_of_two(runtime: _native.Runtime) -> _native.Executable:
    return _native.Executable(runtime, [arg(0), arg(1), add(0, 1)], [(2, 0)], [])


def sleeps(nodes: int, ms: int) -> "list[_native.Node]":
    return [sleep(ms)] + [sleep(ms, i) for i in range(nodes - 1)]


def sleeper(runtime: _native.Runtime, nodes: int, ms: int) -> _native.Executable:
    return _native.Executable(runtime, sleeps(nodes, ms), [(nodes - 1, 0)], [])


# --- values ---


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (40, 50), (1, 2, 1, 2, 1, 2, 1, 2)])
def test_a_value_comes_back_as_it_was(runtime: Any, name: str, shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(numpy_type(name))
    (result,) = identity(runtime, NUMBERS[name]).run([value])
    assert type(result) is (np.ndarray if shape else numpy_type(name).type)
    assert result.dtype == value.dtype and result.shape == shape
    assert np.array_equal(result, value)
    if shape:
        assert result.flags.writeable and result.flags.c_contiguous
        assert not np.shares_memory(result, value)


@pytest.mark.parametrize("name", NUMBERS)
def test_numpy_scalars_are_fed_as_they_are(runtime: Any, name: str) -> None:
    value = numpy_type(name).type(1)
    (result,) = identity(runtime, NUMBERS[name]).run([value])
    assert type(result) is type(value) and result == value


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1.5, "float32"), (1.5, "float64"), (1.5, "float16"), (1.5, "bfloat16"), (2, "float32"),
        (1.5, "complex64"), (1 + 2j, "complex128"), (True, "bool"), (-128, "int8"), (255, "uint8"),
        (2**63 - 1, "int64"), (2**64 - 1, "uint64"), (-(2**31), "int32"), (float("inf"), "float32"),
    ],
)  # fmt: skip
def test_python_scalars_take_the_type_of_the_feed(runtime: Any, value: Any, name: str) -> None:
    (result,) = identity(runtime, NUMBERS[name]).run([value])
    assert result.dtype == numpy_type(name) and result == value


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (128, "int8"), (-1, "uint8"), (2**63, "int64"), (2**64, "uint64"), (1.5, "int32"),
        (1, "bool"), (True, "int32"), (True, "float32"), (1j, "float32"), (b"x", "float32"),
        ("text", "float32"), (None, "float32"), ([1.0], "float32"), (10**400, "float64"),
    ],
)  # fmt: skip
def test_python_scalars_that_do_not_fit_are_refused(runtime: Any, value: Any, name: str) -> None:
    executable = identity(runtime, NUMBERS[name])
    with pytest.raises(_native.StatusError, match=f"feed 0: expected {name}, got ") as caught:
        executable.run([value])
    assert caught.value.code == 3 and caught.value.node == -1
    assert executable.run([np.zeros((), numpy_type(name))]) == [0]


def test_strings(runtime: Any) -> None:
    executable = identity(runtime, STRING)
    assert executable.run([b"any \x00 bytes \xff"]) == [b"any \x00 bytes \xff"]
    words = np.array([[b"", b"a"], [b"long enough to be kept elsewhere", b"\x00"]], dtype=object)
    (result,) = executable.run([words])
    assert result.dtype == object and np.array_equal(result, words)
    (empty,) = executable.run([np.zeros((0, 3), object)])
    assert empty.shape == (0, 3)
    joined = _native.Executable(
        runtime,
        [arg(0, STRING), ("j", "TestJoin", [(0, 0), (0, 0)], [], {}, [STRING])],
        [(1, 0)],
        [],
    )
    assert joined.run([b"ab"]) == [b"abab"]
    with pytest.raises(_native.StatusError, match="expected an array of bytes, got str in el"):
        executable.run([np.array([b"a", "b"], dtype=object)])


def test_arrays_of_another_type_order_or_rank_are_refused(runtime: Any) -> None:
    executable = sum_of_two(runtime)
    one = np.float32(1)
    with pytest.raises(_native.StatusError, match="feed 1: expected float32, got float64"):
        executable.run([one, np.zeros(3)])
    with pytest.raises(_native.StatusError, match="feed 0: expected float32, got >f4 of another"):
        executable.run([np.zeros(3, ">f4"), one])
    with pytest.raises(_native.StatusError, match="feed 0: expected rank 8 at most, got rank 9"):
        executable.run([np.zeros((1,) * 9, np.float32), one])
    with pytest.raises(_native.StatusError, match="feed 0: expected float32, got datetime64"):
        executable.run([np.zeros(3, "M8[s]"), one])
    with pytest.raises(_native.StatusError, match="expected 2 feeds, got 1"):
        executable.run([one])
    assert executable.run([one, one]) == [2]


def test_any_layout_may_be_fed(runtime: Any) -> None:
    base = np.arange(6000, dtype=np.float32).reshape(60, 100)
    executable = identity(runtime, FLOAT32)
    for value in (base.T, base[::-2, 3::7], base[:, :1], np.broadcast_to(base[0], (50, 100))):
        assert np.array_equal(executable.run([value])[0], value)
    misaligned = np.zeros(4 * 5000 + 1, np.uint8)[1:].view(np.float32)
    assert np.array_equal(executable.run([misaligned])[0], misaligned)


def aligned(size: int) -> Any:
    memory = np.zeros(4 * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * size].view(np.float32)


def test_a_lent_array_is_neither_kept_nor_changed(runtime: Any) -> None:
    value = aligned(10_000)
    value[:] = 1
    executable = _native.Executable(
        runtime, [arg(0), const(np.ones(10_000, np.float32)), add(0, 1)], [(0, 0), (2, 0)], []
    )
    before = sys.getrefcount(value)
    same, total = executable.run([value])
    assert sys.getrefcount(value) == before
    assert not np.shares_memory(same, value) and not np.shares_memory(total, value)
    assert (value == 1).all() and (total == 2).all()
    value[:] = 5
    assert (same == 1).all()


def test_results_are_the_callers(runtime: Any) -> None:
    executable = _native.Executable(
        runtime, [const(np.ones(3, np.float32)), add(0, 0)], [(0, 0), (1, 0), (1, 0)], []
    )
    one, two, again = executable.run([])
    one[:] = two[:] = 7
    assert (again == 2).all()
    assert [list(r) for r in executable.run([])] == [[1] * 3, [2] * 3, [2] * 3]


def test_results_outlive_everything() -> None:
    runtime = _native.Runtime(2, _native.Resources())
    executable = sum_of_two(runtime)
    results = [executable.run([np.full(5000, i, np.float32)] * 2)[0] for i in range(10)]
    del runtime, executable
    gc.collect()
    for i, result in enumerate(results):
        assert (result == 2 * i).all()


def test_a_fetched_variable_is_not_the_variable(runtime: Any) -> None:
    nodes = [
        handle("w"),
        const(np.ones(3, np.float32)),
        ("assign", "TestAssign", [(0, 0), (1, 0)], [], {}, []),
        ("read", "TestRead", [(0, 0)], [], {}, [FLOAT32]),
        ("update", "TestAssignAdd", [(0, 0), (1, 0)], [], {}, []),
    ]
    _native.Executable(runtime, nodes, [], [2]).run([])
    read = _native.Executable(runtime, nodes, [(3, 0)], [])
    (value,) = read.run([])
    value[:] = 99
    _native.Executable(runtime, nodes, [], [4]).run([])
    assert (value == 99).all()
    assert list(read.run([])[0]) == [2, 2, 2]
    with pytest.raises(_native.StatusError, match="expected a value that NumPy can hold"):
        _native.Executable(runtime, nodes, [(0, 0)], []).run([])


def test_resources_are_shared_by_runtimes_and_cleared() -> None:
    resources = _native.Resources()
    nodes = [
        handle("w"),
        const(np.float32(3)),
        ("assign", "TestAssign", [(0, 0), (1, 0)], [], {}, []),
        ("read", "TestRead", [(0, 0)], [], {}, [FLOAT32]),
    ]
    _native.Executable(_native.Runtime(1, resources), nodes, [], [2]).run([])
    gc.collect()
    read = _native.Executable(_native.Runtime(1, resources), nodes, [(3, 0)], [])
    assert read.run([]) == [3]
    resources.clear("another")
    assert read.run([]) == [3]
    resources.clear("")
    with pytest.raises(_native.StatusError, match='variable "w" to be initialised') as caught:
        read.run([])
    assert caught.value.code == 9 and caught.value.node == 3


# --- errors ---


def test_a_failing_node_is_named(runtime: Any) -> None:
    attrs = {"message": b"expected luck, got none"}
    fail: _native.Node = ("f", "TestFail", [], [], attrs, [FLOAT32])
    executable = _native.Executable(runtime, [const(np.float32(1)), fail], [(1, 0)], [])
    for _ in range(3):
        with pytest.raises(_native.StatusError) as caught:
            executable.run([])
        assert str(caught.value) == caught.value.message == "expected luck, got none"
        assert (caught.value.code, caught.value.node) == (3, 1)


def test_a_message_may_hold_any_bytes(runtime: Any) -> None:
    fail: _native.Node = ("f", "TestFail", [], [], {"message": b"\xff\xfe"}, [FLOAT32])
    with pytest.raises(_native.StatusError, match="\ufffd\ufffd"):
        _native.Executable(runtime, [fail], [(0, 0)], []).run([])


def test_compiling_refuses_what_cannot_run(runtime: Any) -> None:
    nodes = [arg(), ("n", "NoSuchOp", [(0, 0)], [], {}, [FLOAT32])]
    with pytest.raises(_native.StatusError, match="NoSuchOp") as caught:
        _native.Executable(runtime, nodes, [(1, 0)], [])
    assert (caught.value.code, caught.value.node) == (12, 1)
    with pytest.raises(_native.StatusError, match="expected fetches of the plan's own"):
        _native.Executable(runtime, nodes, [(2, 0)], [])
    assert _native.Executable(runtime, nodes, [(0, 0)], []).run([1.0]) == [1]


def test_attrs_of_any_kind_are_taken(runtime: Any) -> None:
    attrs = {
        "index": 0, "none": None, "mixed": [1, b"a"], "shapes": [("shape", [1, None])], "empty": [],
        "floats": [1, 2.5], "strings": [b"a"], "shape": ("shape", None), "flag": True,
    }  # fmt: skip
    node: _native.Node = ("arg", "_Arg", [], [], attrs, [FLOAT32])
    assert _native.Executable(runtime, [node], [(0, 0)], []).run([1.0]) == [1]


def test_a_library_is_loaded_once(tmp_path: Path) -> None:
    count = len(_native.kernels())
    _native.load_kernel_library(str(LIBRARY))
    assert len(_native.kernels()) == count
    assert ("TestAdd", {"T": FLOAT32}, 0) in _native.kernels()
    assert ("Identity", {}, 0) in _native.kernels()
    with pytest.raises(_native.StatusError, match=r"of ABI \d+, got -1 in .*compile it again"):
        _native.load_kernel_library(str(LIBRARY.with_name("foreign_kernels.so")))
    assert len(_native.kernels()) == count
    none = tmp_path / "none.so"
    with pytest.raises(_native.StatusError, match="expected a kernel library, got no file"):
        _native.load_kernel_library(str(none))
    none.write_bytes(b"nothing")
    with pytest.raises(_native.StatusError, match="expected a kernel library"):
        _native.load_kernel_library(str(none))


# --- time and threads ---


def test_the_end_of_python_says_nothing_of_steps_that_run() -> None:
    code = (
        "import sys, threading, time\n"
        f"sys.path[:] = {sys.path!r}\n"
        "from qanat.core import _native\n"
        f"_native.load_kernel_library({str(LIBRARY)!r})\n"
        "runtime = _native.Runtime(1, _native.Resources())\n"
        f"executable = _native.Executable(runtime, {sleeps(100, 50)!r}, [(99, 0)], [])\n"
        "threading.Thread(target=executable.run, args=([],), daemon=True).start()\n"
        "time.sleep(0.2)\n"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_deadlines(runtime: Any) -> None:
    executable = sleeper(runtime, 4000, 5)
    start = time.monotonic()
    with pytest.raises(_native.StatusError) as caught:
        executable.run([], 0.05)
    assert caught.value.code == 4
    assert time.monotonic() - start < 10  # not after all the 20 s
    assert sum_of_two(runtime).run([1.0, 2.0], 1e300) == [3]


def test_cancellation(runtime: Any) -> None:
    executable = sleeper(runtime, 4000, 5)
    cancellation = _native.Cancellation()
    timer = threading.Timer(0.05, cancellation.cancel, (1, "closed"))
    timer.start()
    with pytest.raises(_native.StatusError, match="closed") as caught:
        executable.run([], cancellation=cancellation)
    assert caught.value.code == 1
    timer.join()


def test_an_interrupt_ends_the_step(runtime: Any) -> None:
    executable = sleeper(runtime, 4000, 5)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        executable.run([])
    assert time.monotonic() - start < 10  # not after all the 20 s
    timer.join()
    assert sum_of_two(runtime).run([1.0, 2.0]) == [3]
    assert sleeper(runtime, 2, 1).run([]) == [2]


def test_other_threads_go_on_during_a_step(runtime: Any) -> None:
    executable = sleeper(runtime, 1, 200)
    thread = threading.Thread(target=executable.run, args=([],))
    thread.start()
    ticks = 0
    while thread.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 20


def test_many_threads_run_one_executable(runtime: Any) -> None:
    executable = sum_of_two(runtime)
    failures = []

    def run(value: float) -> None:
        for _ in range(300):
            (result,) = executable.run([np.full(100, value, np.float32)] * 2)
            if not (result == 2 * value).all():
                failures.append(value)

    threads = [threading.Thread(target=run, args=(float(i),)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_repeated_step_takes_no_memory(runtime: Any) -> None:
    executable = sum_of_two(runtime)
    value = np.ones(300_000, np.float32)
    for _ in range(3):
        executable.run([value, value])
    before = runtime.memory()
    for _ in range(50):
        executable.run([value, value])
    after = runtime.memory()
    assert after["fresh_pages"] == before["fresh_pages"]
    assert after["in_use"] == before["in_use"]
    assert 0 < after["in_use"] + 1 <= after["peak"] <= after["reserved"]


def test_a_forked_child_can_run_steps(runtime: Any) -> None:
    executable = _native.Executable(
        runtime, [("ones", "TestOnes", [], [], {"size": 100_000}, [FLOAT32])], [(0, 0)], []
    )
    executable.run([])
    child = os.fork()
    if child == 0:
        ok = executable.run([])[0].sum() == 100_000
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
