"""Runs cases: value, static shape, gradient, GraphDef, misuse. Knows no op by name.

The functions here assert; tests call them with what `find_cases` finds.
"""

import importlib
import pkgutil
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, get_args

import numpy as np

from qanat.core import base_ops, dtypes
from qanat.core.dtypes import DType
from qanat.core.errors import OpError, ShapeError
from qanat.core.graph import Graph, Operation, Output
from qanat.core.graph_def import import_graph_def
from qanat.core.kernel_table import KernelTable, kernel_table
from qanat.core.op_def import OpDef, registered
from qanat.core.session import Session
from qanat.core.testing.case import TOLERANCE, Array, Case, Input, Known, Misuse

# From most to least.
KNOWLEDGE: Final[Sequence[Known]] = get_args(Known)

# Numeric derivatives take two steps of the graph for each element of an input.
LARGEST_FOR_GRADIENT = 64


def find_cases(package: ModuleType) -> list[Case]:
    """The CASES of all modules of a package whose names end with "_cases"."""
    cases: list[Case] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.name.endswith("_cases"):
            cases += importlib.import_module(module.name).CASES
    return cases


def defined(package: ModuleType) -> list[OpDef]:
    """The ops that the package defines.

    Without those whose names begin with "_": rewrites make their nodes, and the tests of the
    rewrites try them.
    """
    prefix = f"{package.__name__}."
    return [
        op_def
        for op_def in registered()
        if op_def.shape_fn.__module__.startswith(prefix) and not op_def.name.startswith("_")
    ]


def check_has_case(op_def: OpDef, cases: Iterable[Case]) -> None:
    """Some case is of the op."""
    assert any(op_def.name in case.ops() for case in cases), (
        f"expected a case of {op_def.name}, else nothing of it is tried: add one to the CASES of "
        f"{op_def.shape_fn.__module__}_cases"
    )


def check_kernels(op_def: OpDef, table: KernelTable) -> None:
    """The op has a kernel, and each of its kernels takes dtypes that the op does."""
    kernels = table.variants("CPU", op_def.name)
    assert kernels, (
        f"expected a kernel of {op_def.name}, else none of its values is tried: register one by "
        "that name in packages/kernels_cpu/native"
    )
    for attr, number in (pair for types in kernels for pair in types.items()):
        dtype, allowed = dtypes.as_dtype(number), op_def.attrs[attr].allowed
        assert allowed is None or dtype in allowed, (
            f"expected kernels of {op_def.name} for dtypes that its @op allows, got one for "
            f"{attr}={dtype.name}, which no graph reaches: allow it, or register no such kernel"
        )


@dataclass
class Built:
    """A case in a graph of its own.

    Attributes:
        fed: the placeholders, with the case's Inputs they stand for.
        feeds: their values.
        outputs: the results; none if the case's op has none.
        several: whether they are a list, even of one.
        arrays: all inputs as the oracle takes them.
    """

    graph: Graph
    fed: list[tuple[Output, Input]]
    feeds: dict[Output, Array]
    outputs: list[Output]
    operation: Operation | None
    arrays: list[Any]
    several: bool = False

    def fetches(self) -> Any:
        return self.outputs or self.operation

    def run(self) -> list[Array]:
        """The values of the outputs."""
        with Session(graph=self.graph) as session:
            values = session.run(self.fetches(), self.feeds)
        return [_as_array(value) for value in values or ()]


def _as_array(value: Any) -> Array:
    """What a step gave, which for a scalar string is bytes."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def build(
    case: Case,
    dtype: DType | None,
    known: Known = "sizes",
    inputs: tuple[Any, ...] | None = None,
    attrs: dict[str, Any] | None = None,
) -> Built:
    """Makes the graph of a case, with other inputs and attributes if they are given."""
    generator = np.random.default_rng(zlib.crc32(case.name.encode()))
    built = Built(Graph(), [], {}, [], None, [])

    def convert(value: Any) -> tuple[Any, Any]:
        """An input as the op takes it, and as the oracle does."""
        if isinstance(value, list):
            pairs = [convert(element) for element in value]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if not isinstance(value, Input):
            return value, value
        array = value.array(generator, dtype)
        shape = {"sizes": array.shape, "rank": (None,) * array.ndim, "nothing": None}[known]
        placeholder = base_ops.placeholder(dtypes.as_dtype(array.dtype), shape)
        built.fed.append((placeholder, value))
        built.feeds[placeholder] = array
        return placeholder, array

    with built.graph.as_default():
        pairs = [convert(value) for value in (case.inputs if inputs is None else inputs)]
        result = case.op(*(pair[0] for pair in pairs), **(case.attrs if attrs is None else attrs))
        built.arrays = [pair[1] for pair in pairs]
    if isinstance(result, Operation):
        built.operation = result
    else:
        built.several = isinstance(result, (list, tuple))
        built.outputs = list(result) if built.several else [result]
    return built


def tried(
    cases: Iterable[Case], table: KernelTable | None = None, device_type: str = "CPU"
) -> list[tuple[Case, DType | None]]:
    """Each case with each dtype for which all ops of its graph have a kernel of that device.

    Args:
        table: of kernels; all that exist if not given.
    """
    table = kernel_table() if table is None else table
    return [
        (case, dtype)
        for case in cases
        for dtype in case.swept()
        if _runs(case, dtype, table, device_type)
    ]


def tried_once(cases: Iterable[Case]) -> list[tuple[Case, DType | None]]:
    """Each case that runs with one dtype: for what does not depend on it."""
    found = (tried([case])[:1] for case in cases)
    return [run for runs in found for run in runs]


def name_of(value: Any) -> str:
    """What a test's parameter is called."""
    if isinstance(value, Case):
        return value.name
    return value.message if isinstance(value, Misuse) else str(value)


def _runs(case: Case, dtype: DType | None, table: KernelTable, device_type: str) -> bool:
    return all(
        op.type == "Placeholder" or table.has(device_type, op.type, op._attrs)
        for op in build(case, dtype).graph.get_operations()
    )


def check_value(case: Case, dtype: DType | None) -> None:
    """The results are the oracle's, of the dtypes and shapes that the graph says."""
    built = build(case, dtype)
    values = built.run()
    for output, value in zip(built.outputs, values, strict=True):
        assert value.dtype == output.dtype.as_numpy, f"{output!r} gave {value.dtype}"
        assert output.shape.is_compatible_with(value.shape), f"{output!r} gave {value.shape}"
        assert not case.exact or output.shape == value.shape, f"{output!r} gave {value.shape}"
    if case.holds is not None:
        case.holds(*values)
    if case.oracle is not None:
        expected = _expected(case, built.arrays)
        for value, wanted in zip(values, expected if built.several else [expected], strict=True):
            assert_close(value, wanted, case.tolerance)


def _expected(case: Case, arrays: Sequence[Any]) -> Any:
    assert case.oracle is not None
    with np.errstate(all="ignore"):
        return case.oracle(*(_widened(array) for array in arrays))


def _widened(array: Any) -> Any:
    """Floats as float64, so that the oracle rounds once."""
    if isinstance(array, list):
        return [_widened(element) for element in array]
    if isinstance(array, np.ndarray) and dtypes.as_dtype(array.dtype).is_floating:
        return array.astype(np.float64)
    return array


def assert_close(value: Array, expected: Any, tolerance: float = 1.0) -> None:
    """Equal, or for floats and complex numbers equal but for rounding; NaN equals NaN."""
    dtype = dtypes.as_dtype(value.dtype)
    if dtype not in TOLERANCE:
        np.testing.assert_array_equal(value, np.asarray(expected).astype(value.dtype))
        return
    wide = np.complex128 if dtype.is_complex else np.float64
    with np.errstate(over="ignore"):
        wanted = np.asarray(expected).astype(value.dtype).astype(wide)
    bound = TOLERANCE[dtype] * tolerance
    finite = wanted[np.isfinite(wanted)]
    scale = min(float(np.max(np.abs(finite), initial=0.0)), 1.0)
    np.testing.assert_allclose(
        value.astype(wide),
        wanted,
        rtol=bound,
        atol=bound * scale,
        err_msg="ACTUAL is the step's value, DESIRED the oracle's",
    )


def works_knowing(case: Case, known: Known) -> bool:
    """Whether the case's op can be used where no more than that is known."""
    return KNOWLEDGE.index(known) <= KNOWLEDGE.index(case.needs)


def assert_same(value: Array, other: Array) -> None:
    """The same type, shape and bits."""
    assert (value.dtype, value.shape) == (other.dtype, other.shape)
    if value.dtype == object:
        np.testing.assert_array_equal(value, other)
    else:
        assert value.tobytes() == other.tobytes(), f"expected {other}, got {value}"


def check_unknown_shapes(case: Case, dtype: DType | None, known: Known) -> None:
    """With less known of the inputs' shapes the static shapes still agree with those of the step.
    """
    exact = build(case, dtype).run()
    built = build(case, dtype, known)
    for output, value, before in zip(built.outputs, built.run(), exact, strict=True):
        assert output.shape.is_compatible_with(value.shape), f"{output!r} gave {value.shape}"
        if case.holds is None:
            assert_same(value, before)


def check_round_trip(case: Case, dtype: DType | None) -> None:
    """The graph, written as a GraphDef and read again, gives the same results."""
    built = build(case, dtype)
    graph = Graph()
    names = [output.name for output in (*built.outputs, *built.feeds)]
    with graph.as_default():
        found: Any = import_graph_def(built.graph.as_graph_def(), return_elements=names, name="")
    outputs, fed = found[: len(built.outputs)], found[len(built.outputs) :]
    with Session(graph=graph) as session:
        again = session.run(outputs, dict(zip(fed, built.feeds.values(), strict=True)))
    for value, other, before in zip(built.run(), again, built.outputs, strict=True):
        assert before.shape == graph.get_tensor_by_name(before.name).shape
        if case.holds is None:
            assert_same(_as_array(other), value)


def misuses(cases: Iterable[Case]) -> Iterator[tuple[Case, Misuse]]:
    """All misuses, each with its case."""
    for case in cases:
        for misuse in case.misuse:
            yield case, misuse


def check_misuse(case: Case, misuse: Misuse) -> None:
    """The error is of the class and has the message, and the session goes on working after it."""
    try:
        built = _build_misuse(case, misuse, "sizes")
        assert issubclass(misuse.error, OpError), f"expected {misuse.error}, got a graph"
        with built.graph.as_default():
            healthy = base_ops.constant(1)
        with Session(graph=built.graph) as session:
            try:
                session.run(built.fetches(), built.feeds)
            finally:
                assert session.run(healthy) == 1
    except misuse.error as error:
        assert re.search(misuse.message, str(error)), f"expected {misuse.message!r}, got {error}"
        return
    raise AssertionError(f"expected {misuse.error.__name__}, got a result")


def check_late_misuse(case: Case, misuse: Misuse) -> None:
    """Where nothing is known of the shapes while the graph is built, the step is what fails."""
    try:
        built = _build_misuse(case, misuse, "nothing")
    except (ShapeError, TypeError):
        return  # no shape of an input was needed to see it
    with Session(graph=built.graph) as session:
        try:
            result = session.run(built.fetches(), built.feeds)
        except OpError:
            return
    raise AssertionError(f"expected an error such as {misuse.message!r}, got {result}")


def _build_misuse(case: Case, misuse: Misuse, known: Known) -> Built:
    swept = case.swept()
    dtype = misuse.dtype or (dtypes.float32 if dtypes.float32 in swept else swept[0])
    attrs = {**case.attrs, **misuse.attrs}
    return build(case, dtype or dtypes.float32, known, misuse.inputs, attrs)


# As qanat.autodiff.compute_gradient: the Jacobian twice, by rules and by differences.
ComputeGradient = Callable[..., tuple[Array, Array]]
Gradients = Callable[..., Sequence[Output | None]]


def has_gradient(case: Case) -> bool:
    """Whether the numeric check applies: float64 in and out, small enough, and differentiable."""
    swept = [value for value in _inputs(case.inputs) if value.dtype is None]
    small = all(np.prod(value.shape) <= LARGEST_FOR_GRADIENT for value in swept)
    return case.gradient and bool(swept) and small and dtypes.float64 in case.swept()


def _inputs(values: Any) -> Iterator[Input]:
    for value in values:
        if isinstance(value, list):
            yield from _inputs(value)
        elif isinstance(value, Input):
            yield value


def check_gradient(case: Case, compute_gradient: ComputeGradient, known: Known = "sizes") -> None:
    """For each swept input the derivative of each floating-point result is that by differences."""
    built = build(case, dtypes.float64, known)
    shapes = [value.shape for value in built.run()]
    with Session(graph=built.graph).as_default():
        for output, shape in zip(built.outputs, shapes, strict=True):
            if output.dtype.is_floating:
                _check_jacobians(built, output, shape, compute_gradient)


def _check_jacobians(
    built: Built, y: Output, shape: Any, compute_gradient: ComputeGradient
) -> None:
    for x, given in built.fed:
        if given.dtype is not None:
            continue
        others = {key: value for key, value in built.feeds.items() if key is not x}
        symbolic, numeric = compute_gradient(
            x, given.shape, y, shape, x_init_value=built.feeds[x], extra_feed_dict=others
        )
        scale = max(1.0, float(np.max(np.abs(numeric), initial=0.0)))
        np.testing.assert_allclose(
            symbolic,
            numeric,
            rtol=1e-6,
            atol=1e-6 * scale,
            err_msg=f"d {y.name} / d {x.name}: ACTUAL is what the ops' gradients give, DESIRED "
            "what central differences do",
        )


def check_second_order(
    case: Case, gradients: Gradients, compute_gradient: ComputeGradient, known: Known = "sizes"
) -> None:
    """The derivative of the gradient, weighted at random, is that by differences."""
    built = build(case, dtypes.float64, known)
    generator = np.random.default_rng(1)
    xs = [x for x, given in built.fed if given.dtype is None]
    ys = [y for y in built.outputs if y.dtype.is_floating]
    floats = [value for value in built.run() if dtypes.as_dtype(value.dtype).is_floating]
    with built.graph.as_default():
        weights = [generator.uniform(0.5, 1.5, value.shape) for value in floats]
        firsts = gradients(ys, xs, [base_ops.constant(w) for w in weights])
    with Session(graph=built.graph).as_default() as session:
        for first in firsts:
            if first is not None:
                shape = np.shape(session.run(first, built.feeds))
                _check_jacobians(built, first, shape, compute_gradient)
