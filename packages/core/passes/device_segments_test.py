"""Tests of cutting a part into segments: what runs together, and what goes in and out."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, no_op, placeholder
from qanat.core.device_library import Segment
from qanat.core.graph import Graph, control_dependencies, device
from qanat.core.op_def import Handle, In, Operation, Output, Shapes, op
from qanat.core.passes.device_segments import with_segments
from qanat.core.passes.partition import Partitions, join, partition
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Node, StepGraph
from qanat.core.passes.verify import verify
from qanat.core.shapes import TensorShape

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


@op("SegmentTestHandle", outputs="h: resource", stateful=True)
def handle() -> Shapes:
    return [Handle(dtypes.float32, TensorShape([]))]


@op("SegmentTestUse", outputs="value: float32", stateful=True)
def use(h: Annotated[In, "resource"], x: Annotated[In, "float32"]) -> Shapes:
    return [TensorShape([])]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


def compiled(segment: Segment, producers: Sequence[Node]) -> Callable[..., Any]:
    assert len(producers) == len(segment.inputs)
    return lambda *inputs: inputs


def cut(
    *fetches: Output, feeds: Sequence[Output] = (), targets: Sequence[Operation] = ()
) -> tuple[Partitions, StepGraph, list[Segment]]:
    """The parts, the step that is run, and the segments of its GPU."""
    planned = partition(prune(list(feeds), fetches, list(targets)))
    parts, segments = with_segments(planned, {GPU: compiled})
    return parts, verify(join(parts), "with_segments"), list(segments.values())


def on(where: str, x: Output, name: str) -> Output:
    with device(where):
        return identity(x, name=name)


def names(segment: Segment) -> list[str]:
    return [node.name for node in segment.nodes]


def test_a_step_without_such_a_device_is_left_as_it_is() -> None:
    planned = partition(prune([], [on(CPU, constant(1.0), "x")], []))
    assert with_segments(planned, {GPU: compiled}) == (planned, {})


def test_what_is_on_the_device_runs_together() -> None:
    fed = placeholder(dtypes.float32, [])
    a = on(GPU, fed, "a")
    b = on(GPU, a, "b")
    c = on(CPU, b, "c")
    _, step, (segment,) = cut(c, a, feeds=[fed])
    assert names(segment) == ["a", "b"]
    assert [str(ref) for ref in segment.inputs] == [str(step.feeds[0])]
    assert sorted(map(str, segment.outputs)) == ["a", "b"]
    assert {node.op for node in step} == {"_Arg", "_DeviceSegment", "_Send", "_Recv", "Identity"}
    assert str(step.fetches[1]).startswith(segment.name)


def test_what_comes_back_begins_another_segment() -> None:
    fed = placeholder(dtypes.float32, [])
    a = on(GPU, fed, "a")
    b = on(GPU, on(CPU, a, "there"), "b")
    beside = on(GPU, a, "beside")
    _, _, segments = cut(b, beside, feeds=[fed])
    assert [names(segment) for segment in segments] == [["a", "beside"], ["b"]]


def test_a_value_of_an_earlier_segment() -> None:
    fed = placeholder(dtypes.float32, [2])
    a = on(GPU, fed, "a")
    there = on(CPU, a, "there")
    with device(GPU), control_dependencies([there]):
        b = identity(a, name="b")
    _, step, (first, second) = cut(b, feeds=[fed])
    assert list(map(str, second.inputs)) == ["a"]
    node = step.nodes[second.name]
    assert node.inputs[0].node == first.name and len(node.control_inputs) == 1
    assert node.shapes == (TensorShape([2]),)


def test_control_edges() -> None:
    with device(GPU):
        first = no_op(name="first")
        with control_dependencies([first]):
            second = no_op(name="second")
    with device(CPU), control_dependencies([second]):
        third = no_op(name="third")
    _, step, (segment,) = cut(targets=[third])
    assert names(segment)[:2] == ["first", "second"]
    assert segment.nodes[1].control_inputs == ("first",)
    assert any(node.op == "_Recv" for node in step)


def test_each_segment_has_constants_and_handles_of_its_own() -> None:
    with device(GPU):
        h = handle(name="h")
        shared = constant(2.0, name="shared")
        a = use(h, shared, name="a")
    there = on(CPU, a, "there")
    with device(GPU):
        b = use(h, there, name="b")
        c = identity(shared, name="c")
        with control_dependencies([there]):
            d = identity(shared, name="d")
    _, _, (first, second) = cut(b, c, d)
    assert sorted(names(first)) == ["a", "c", "h", "shared"]
    assert sorted(names(second)) == ["b", "d", "h", "shared"]
    assert all(ref.node not in ("h", "shared") for ref in (*first.outputs, *second.inputs))


def test_a_constant_that_is_fetched() -> None:
    with device(GPU):
        alone = constant(1.0, name="alone")
    _, step, (segment,) = cut(alone)
    assert names(segment) == ["alone"] and list(map(str, segment.outputs)) == ["alone"]
    assert step.fetches[0].node == segment.name


def test_a_fed_value_that_is_fetched_needs_no_device() -> None:
    with device(GPU):
        fed = placeholder(dtypes.float32, [])
    _, step, segments = cut(fed, feeds=[fed])
    assert not segments and [node.op for node in step] == ["_Arg"]
