"""Tests of partitioning: what crosses, what does not, and that the parts make the same step."""

from collections.abc import Iterator
from typing import Annotated

import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, no_op, placeholder
from qanat.core.errors import InternalError
from qanat.core.graph import Graph, control_dependencies, device
from qanat.core.op_def import Handle, In, Operation, Output, Shapes, op
from qanat.core.passes.partition import Partitions, join, partition
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import StepGraph
from qanat.core.passes.verify import verify
from qanat.core.shapes import TensorShape

A = "/job:a/task:0/device:CPU:0"
B = "/job:b/task:0/device:CPU:0"


@op("PartitionTestHandle", outputs="h: resource", stateful=True)
def handle() -> Shapes:
    return [Handle(dtypes.float32, TensorShape([]))]


@op("PartitionTestRead", outputs="value: float32")
def read(h: Annotated[In, "resource"]) -> Shapes:
    return [h.handle_shape]


@op("PartitionTestMake", outputs="value: float32", stateful=True)
def make() -> Shapes:
    return [TensorShape([3])]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


def parts_of(
    *fetches: Output, feeds: list[Output] | None = None, targets: list[Operation] | None = None
) -> Partitions:
    return partition(prune(feeds or [], fetches, targets or []))


def ops(part: StepGraph) -> list[str]:
    return sorted(node.op for node in verify(part, "partition"))


def test_one_device_is_left_as_it_is() -> None:
    with device(A):
        x = identity(make())
    step = prune([], [x], [])
    made = partition(step)
    assert made.parts == {A: step}
    assert made.fetches == ((A, 0),)
    assert join(made) is step


def test_a_value_crosses_once_to_each_device() -> None:
    with device(A):
        x = make()
    with device(B):
        y, z = identity(x), identity(x)
    made = parts_of(y, z)
    assert ops(made.parts[A]) == ["PartitionTestMake", "_Send"]
    assert ops(made.parts[B]) == ["Identity", "Identity", "_Recv"]
    (send,) = (node for node in made.parts[A] if node.op == "_Send")
    (recv,) = (node for node in made.parts[B] if node.op == "_Recv")
    names = ("tensor_name", "send_device", "recv_device")
    assert [send.attrs[name] for name in names] == [recv.attrs[name] for name in names]
    assert recv.shapes == (TensorShape([3]),) and recv.origin is x.op
    assert made.parts[A].targets == (send.name,)


def test_a_control_edge_crosses_as_an_empty_tensor() -> None:
    with device(A):
        first = no_op()
    with device(B), control_dependencies([first]):
        second, third = no_op(), no_op()
    made = parts_of(targets=[second, third])
    assert ops(made.parts[A]) == ["Const", "NoOp", "_Send"]
    assert ops(made.parts[B]) == ["NoOp", "NoOp", "_Recv"]
    (signal,) = (node for node in made.parts[A] if node.op == "Const")
    assert signal.control_inputs == (first.name,) and signal.shapes == (TensorShape([0]),)


def test_a_control_edge_beside_a_value_needs_nothing_of_its_own() -> None:
    with device(A):
        x = make()
    with device(B), control_dependencies([x.op]):
        y = identity(x)
        after = no_op()
    made = parts_of(y, targets=[after])
    assert ops(made.parts[A]) == ["PartitionTestMake", "_Send"]
    assert ops(made.parts[B]) == ["Identity", "NoOp", "_Recv"]


def test_constants_and_fed_values_are_not_sent() -> None:
    with device(A):
        c = constant(1.0)
        x = placeholder(dtypes.float32)
        here = identity(c), identity(x)
    with device(B):
        there = identity(c), identity(x)
    made = parts_of(*here, *there, feeds=[x])
    for part in made.parts.values():
        assert ops(part) == ["Const", "Identity", "Identity", "_Arg"]
        assert len(part.feeds) == 1


def test_a_device_that_only_held_what_was_copied_has_no_part() -> None:
    with device(A):
        c = constant(1.0)
    with device(B):
        y = identity(c)
    assert list(parts_of(y).parts) == [B]


def test_fetches_are_found_in_their_parts() -> None:
    with device(A):
        x = make()
    with device(B):
        y = identity(x)
    made = parts_of(y, x, y)
    assert made.fetches == ((B, 0), (A, 0), (B, 1))
    joined = verify(join(made), "join")
    assert [ref.node for ref in joined.fetches] == [y.op.name, x.op.name, y.op.name]


def test_a_value_that_goes_there_and_back() -> None:
    with device(A):
        x = make()
    with device(B):
        y = identity(x)
    with device(A):
        z = identity(y)
    made = parts_of(z)
    assert ops(made.parts[A]) == ["Identity", "PartitionTestMake", "_Recv", "_Send"]
    assert ops(made.parts[B]) == ["Identity", "_Recv", "_Send"]


def test_a_handle_cannot_leave_its_device() -> None:
    with device(A):
        h = handle()
    with device(B):
        value = read(h)
    with pytest.raises(InternalError, match=f"stay on {A}, got a use on {B}"):
        parts_of(value)
