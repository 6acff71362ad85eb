"""What is called of CUDA's libraries is there, by the names of the bindings that are installed with
a GPU. They can be imported without one; to call them takes it."""

import inspect
import re
from enum import EnumMeta
from importlib import import_module
from typing import Any

import pytest

from qanat.kernels_cuda import cudnn_graphs
from qanat.kernels_cuda.cublas import MODULE as CUBLAS
from qanat.kernels_cuda.cudnn_graphs import MODULE as CUDNN
from qanat.kernels_cuda.emulator.fake_cublas import FakeCublas
from qanat.kernels_cuda.emulator.fake_cudnn import FakeCudnn, _Graph
from qanat.kernels_cuda.kernels.windows import window_of

cublas: Any = import_module(CUBLAS)
cudnn: Any = import_module(CUDNN)


def functions(fake: type) -> dict[str, list[str]]:
    """The parameters of a fake's public functions, by name."""
    return {
        name: list(inspect.signature(function).parameters)[1:]
        for name, function in vars(fake).items()
        if not name.startswith("_") and inspect.isfunction(function)
    }


def overloads(function: Any) -> list[dict[str, bool]]:
    """The parameters of a compiled function as its documentation has them, by overload: their
    names, and whether each may be left out. Those without names are `arg0` and so on."""
    found = []
    for line in re.findall(rf"{function.__name__}\((.*)\)", function.__doc__):
        parts = filter(str.strip, re.sub(r"\[[^]]*\]|<[^>]*>", "", line).split(","))
        names = {re.split(r"[:=]", part)[0].split()[-1]: "=" in part for part in parts}
        if "*args" not in names:  # which stands above the overloads
            names.pop("self", None)
            found.append(names)
    assert found, function.__doc__
    return found


def documented(function: Any) -> list[str]:
    """The parameters of a compiled function that has no overloads."""
    (names,) = overloads(function)
    return list(names)


def takes(names: dict[str, bool], given: list[str]) -> bool:
    """Whether a function can be called with these arguments, by place and, where it has names, in
    the same sense."""
    placed = list(names)[: len(given)]
    return (
        len(placed) == len(given)
        and all(
            name == wanted or re.fullmatch(r"arg\d+", name)
            for name, wanted in zip(placed, given, strict=True)
        )
        and all(list(names.values())[len(given) :])
    )


@pytest.mark.parametrize(("name", "parameters"), functions(FakeCublas).items())
def test_cublas_functions(name: str, parameters: list[str]) -> None:
    assert documented(getattr(cublas, name)) == parameters


def enumerations(fake: type) -> list[tuple[str, Any]]:
    return [(name, kind) for name, kind in vars(fake).items() if isinstance(kind, EnumMeta)]


@pytest.mark.parametrize(("name", "kind"), enumerations(FakeCublas))
def test_cublas_enumerations(name: str, kind: Any) -> None:
    real = getattr(cublas, name)
    assert {member.name: int(real[member.name]) for member in kind} == {
        member.name: member.value for member in kind
    }


def test_cublas_error() -> None:
    assert issubclass(cublas.cuBLASError, Exception)


@pytest.mark.parametrize(("name", "kind"), enumerations(FakeCudnn))
def test_cudnn_enumerations(name: str, kind: Any) -> None:
    assert all(hasattr(getattr(cudnn, name), member.name) for member in kind)
    assert issubclass(cudnn.cudnnGraphNotSupportedError, Exception)


@pytest.mark.parametrize(("name", "parameters"), functions(FakeCudnn).items())
def test_cudnn_functions(name: str, parameters: list[str]) -> None:
    assert documented(getattr(cudnn, name)) == parameters


@pytest.mark.parametrize("node", cudnn_graphs._ROLES)
@pytest.mark.parametrize("dtype", cudnn_graphs._TYPES)
def test_cudnn_takes_a_description(node: Any, dtype: str) -> None:
    """The binding's own graph: all that is said before cuDNN is asked."""
    window = window_of((2, 7, 8, 3), (3, 2), (2, 4, 8, 5), (1, 2, 1, 1), "SAME")
    graph = cudnn_graphs.describe(cudnn, 1, node, dtype, window)
    assert isinstance(graph, cudnn.pygraph)


def test_what_cudnn_finds_wrong_with_a_description() -> None:
    """As where it has no engine, our own kernels do it from then on."""
    kind = cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        io_data_type=kind, intermediate_data_type=kind, compute_data_type=kind, handle=1
    )
    graph.relu(graph.tensor(dim=[1, 2], stride=[], data_type=kind, uid=1))
    with pytest.raises(ValueError, match="strides not set"):
        graph.validate()


# What is asked of a graph once it is described: by place, but for the arguments of `execute`.
ASKED = ["validate", "build_operation_graph", "create_execution_plans", "deselect_numeric_notes",
         "deselect_workspace_greater_than", "check_support", "build_plans",
         "get_workspace_size"]  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_cudnn_graphs(name: str) -> None:
    fake = functions(_Graph)[name]
    real = overloads(getattr(cudnn.pygraph, name))
    assert any(takes(names, fake) for names in real), f"{real} take no {fake}"


def test_what_takes_arguments() -> None:
    """That the comparison above can fail: by number, name, and what must not be left out."""
    assert takes({"arg0": False, "policy": True}, ["modes"])
    assert takes({"modes": False}, ["modes"])
    assert not takes({"arg0": False}, ["modes", "notes"])
    assert not takes({"notes": False}, ["modes"])
    assert not takes({"arg0": False, "handle": False}, ["modes"])


def test_cudnn_runs_graphs_by_number() -> None:
    names = list(inspect.signature(cudnn.pygraph.execute).parameters)[1:]
    assert names[:3] == functions(_Graph)["execute"]
