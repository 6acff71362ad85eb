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


def documented(function: Any) -> list[str]:
    """The parameters of a compiled function, as the first lines of its documentation have them."""
    text = re.search(r"\((.*)\)", function.__doc__)
    assert text is not None, function.__doc__
    parts = re.sub(r"\[[^]]*\]|<[^>]*>", "", text[1]).split(",")
    names = [re.split(r"[:=]", part)[0].split()[-1] for part in parts if part.strip()]
    return [name for name in names if name != "self"]


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


# What is asked of a graph once it is described: by place, but for the arguments of `execute`.
ASKED = ["validate", "build_operation_graph", "create_execution_plans", "deselect_numeric_notes",
         "deselect_workspace_greater_than", "check_support", "build_plans"]  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_cudnn_graphs(name: str) -> None:
    fake = functions(_Graph)[name]
    real = documented(getattr(cudnn.pygraph, name))
    assert len(real) >= len(fake) and "get_workspace_size" in dir(cudnn.pygraph)


def test_cudnn_runs_graphs_by_number() -> None:
    names = list(inspect.signature(cudnn.pygraph.execute).parameters)[1:]
    assert names[:3] == functions(_Graph)["execute"]
