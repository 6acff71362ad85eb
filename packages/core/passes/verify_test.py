"""Tests that broken StepGraphs are noticed."""

from collections.abc import Callable

import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity
from qanat.core.errors import InternalError
from qanat.core.graph import Graph
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Ref, StepGraph
from qanat.core.passes.verify import verify


def step() -> StepGraph:
    with Graph().as_default():
        return prune([], [identity(constant(1.0, name="a"), name="b")], [])


def swapped(graph: StepGraph) -> StepGraph:
    return graph.with_nodes(list(graph)[::-1])


def changed(**changes: object) -> Callable[[StepGraph], StepGraph]:
    def change(graph: StepGraph) -> StepGraph:
        a, b = graph
        return graph.with_nodes([a, b.replace(**changes)])

    return change


@pytest.mark.parametrize(
    ("breakage", "expected"),
    [
        (swapped, r"\[Identity\] pass p: expected the input a to stand before \(node 'b'"),
        (changed(inputs=(Ref("a", 1),)), "expected the input a:1 to exist"),
        (changed(inputs=(Ref("gone", 0),)), "expected the input gone to stand before"),
        (changed(control_inputs=("gone",)), "expected the control input 'gone' to stand before"),
        (changed(inputs=()), r"expected inputs of \(float32\), got \(\)"),
        (changed(attrs={"T": dtypes.int32}), r"expected inputs of \(int32\), got \(float32\)"),
        (changed(dtypes=(dtypes.int32,)), r"expected outputs of \(float32\), got \(int32\)"),
        (changed(name="c"), "expected the fetch b to exist"),
        (
            lambda g: StepGraph({"x": g.nodes["a"]}),
            "expected the name it is filed under, 'x'",
        ),
        (lambda g: StepGraph(g.nodes, targets=("gone",)), "expected the node 'gone' to exist"),
    ],
)
def test_what_is_broken_is_named(breakage: Callable[[StepGraph], StepGraph], expected: str) -> None:
    whole = step()
    assert verify(whole, "p") is whole
    with pytest.raises(InternalError, match=expected):
        verify(breakage(whole), "p")
