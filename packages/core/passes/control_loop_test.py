"""Loops that span devices: what stands in each part, and what waits for what."""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph, Output, device
from qanat.core.op_def import In, Role, Shapes, op
from qanat.core.passes.flow import Flow
from qanat.core.passes.loop_edges import follow_values
from qanat.core.passes.partition import partition
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Node, Ref, StepGraph
from qanat.core.passes.verify import verify
from qanat.core.shapes import SCALAR

A = "/job:a/task:0/device:CPU:0"
B = "/job:b/task:0/device:CPU:0"

T = Annotated[In, "T"]
Bool = Annotated[In, "bool"]
ANY = dtypes.ALL


@op("ControlLoopTestSwitch", outputs="f: T, t: T", role=Role.SWITCH, T=ANY)
def switch(x: T, p: Bool) -> Shapes:
    return [x.shape, x.shape]


@op("ControlLoopTestMerge", outputs="y: T, i: int32", role=Role.MERGE, T=ANY)
def merge(xs: Annotated[list[In], "N * T"]) -> Shapes:
    return [xs[0].shape, SCALAR]


@op("ControlLoopTestEnter", outputs="y: T", role=Role.ENTER, T=ANY)
def enter(x: T, *, frame_name: str, is_constant: bool = False) -> Shapes:
    return [x.shape]


@op("ControlLoopTestExit", outputs="y: T", role=Role.EXIT, T=ANY)
def leave(x: T) -> Shapes:
    return [x.shape]


@op("ControlLoopTestNext", outputs="y: T", role=Role.NEXT_ITERATION, T=ANY)
def again(x: T) -> Shapes:
    return [x.shape]


@op("ControlLoopTestCond", outputs="y: bool", role=Role.LOOP_COND)
def loop_cond(p: Bool) -> Shapes:
    return [SCALAR]


@op("ControlLoopTestAdd", outputs="z: T", T=ANY)
def add(x: T, y: T) -> Shapes:
    return [x.shape]


@op("ControlLoopTestLess", outputs="z: bool", T=ANY)
def less(x: T, y: T) -> Shapes:
    return [SCALAR]


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


def loop(x: Output, limit: Output, body: Any, frame: str = "loop") -> Output:
    """while x < limit: x = body(x), with everything but the body on A."""
    with device(A):
        entered = enter(x, frame_name=frame)
        merged = merge([entered, entered])[0]
        bound = enter(limit, frame_name=frame, is_constant=True)
        goes_on = loop_cond(less(merged, bound), name=f"{frame}_cond")
        after, inside = switch(merged, goes_on)
    merged.op._update_input(1, again(body(inside), name=f"{frame}_next"))
    with device(B):
        return leave(after, name=f"{frame}_exit")


def parts_of(y: Output, *feeds: Output) -> dict[str, StepGraph]:
    made = partition(verify(prune(feeds, [y], []), "prune"))
    return {device: verify(part, "partition") for device, part in made.parts.items()}


def only(part: StepGraph, role: Role) -> Node:
    (found,) = (node for node in part if node.op_def.role is role)
    return found


def inputs(x: str = "float32") -> tuple[Output, Output]:
    with device(A):
        return placeholder(x, [], name="x"), placeholder(x, [], name="limit")


def test_a_part_without_the_predicate_has_a_control_loop() -> None:
    x, limit = inputs()

    def body(inside: Output) -> Output:
        with device(B):
            return add(inside, inside, name="doubled")

    parts = parts_of(loop(x, limit, body), x, limit)
    there = parts[B]
    enters, merged, chosen = (only(there, role) for role in (Role.ENTER, Role.MERGE, Role.SWITCH))
    goes_on = only(there, Role.NEXT_ITERATION)
    assert enters.attrs["frame_name"] == "loop" and enters.dtypes == (dtypes.int32,)
    assert merged.inputs == (Ref(enters.name, 0), Ref(goes_on.name, 0))
    predicate = there.nodes[chosen.inputs[1].node]
    assert predicate.op == "_Recv" and predicate.attrs["tensor_name"] == "loop_cond:0"
    assert goes_on.inputs == (Ref(chosen.name, 1),)
    received = [node for node in there if node.op == "_Recv"]
    assert len(received) == 2
    assert all(node.control_inputs == (merged.name,) for node in received)
    assert np.all(there.nodes[enters.inputs[0].node].attrs["value"] == 0)
    # The device of the predicate receives, too: its control loop goes by its own predicate.
    here = parts[A]
    control = [node for node in here if node.name.startswith("_loop_")]
    assert [node.op_def.role for node in control] == [
        Role.NONE,
        Role.ENTER,
        Role.MERGE,
        Role.SWITCH,
        Role.NEXT_ITERATION,
    ]
    assert control[3].inputs[1] == Ref("loop_cond", 0)


def test_a_loop_on_one_device_has_no_control_loop() -> None:
    x, limit = inputs()

    def body(inside: Output) -> Output:
        with device(A):
            return add(inside, inside)

    y = loop(x, limit, body)
    with device(B):
        z = identity(y)
    parts = parts_of(z, x, limit)
    assert not any(name.startswith("_loop_") for part in parts.values() for name in part.nodes)
    assert [node.op for node in parts[B]] == ["_Recv", "Identity"]


def test_edges_of_loops_stand_where_their_values_are() -> None:
    x, limit = inputs()

    def body(inside: Output) -> Output:
        with device(B):
            step = enter(limit, frame_name="loop", is_constant=True, name="step")
            moved = add(inside, step)
        with device(A):
            return add(moved, step)

    step = follow_values(prune([x, limit], [loop(x, limit, body)], []))
    devices = {node.name: node.device for node in step}
    assert devices["loop_next"] == devices["loop_exit"] == A
    steps = [node.device for node in step if node.name.startswith("step")]
    assert sorted(steps) == [A, B]
    verify(step, "follow_values")


def test_control_loops_are_nested_as_loops_are() -> None:
    x, limit = inputs()

    def outer(inside: Output) -> Output:
        with device(A):
            bound = enter(limit, frame_name="outer", is_constant=True)

        def inner(value: Output) -> Output:
            with device(B):
                return add(value, value)

        return loop(inside, bound, inner, "inner")

    there = parts_of(loop(x, limit, outer, "outer"), x, limit)[B]
    enters = [node for node in there if node.op_def.role is Role.ENTER]
    assert [node.attrs["frame_name"] for node in enters] == ["outer", "inner"]
    around = there.nodes[enters[1].inputs[0].node]
    assert around.op_def.role is Role.MERGE
    flow = Flow(there)
    assert flow.place(around.name).frame == ("outer",)
    assert all(
        flow.place(node.name).frame == flow.place(node.control_inputs[0]).frame
        for node in there
        if node.op == "_Recv"
    )


def test_what_may_be_dead_is_known_where_it_is_received() -> None:
    with device(A):
        x, p = placeholder("float32", [], name="x"), placeholder("bool", [], name="p")
        f, t = switch(x, p)
    with device(B):
        taken, always = identity(t, name="taken"), identity(x, name="always")
        z = merge([identity(f), taken])[0]
        y = add(z, always)
    there = parts_of(y, x, p)[B]
    flow = Flow(there)
    (predicate,) = {ref for ref, _ in flow.place("taken").taken}
    assert predicate.node.startswith("_arg_p")
    assert flow.place(z.op.name).taken == flow.place("always").taken == frozenset()


def test_nodes_of_constants_alone_go_round_with_the_loop() -> None:
    x, limit = inputs()

    def body(inside: Output) -> Output:
        with device(B):
            step = enter(limit, frame_name="loop", is_constant=True)
            twice = add(step, step, name="twice")
        with device(A):
            return add(inside, twice)

    there = parts_of(loop(x, limit, body), x, limit)[B]
    assert there.nodes["twice"].control_inputs == (only(there, Role.MERGE).name,)


@pytest.mark.parametrize("wrong", ["no predicate", "a first value"])
def test_loops_that_cannot_span_devices(wrong: str) -> None:
    x, limit = inputs()
    with device(A):
        entered = enter(x, frame_name="loop")
        merged = merge([entered, entered])[0]
        goes_on = less(merged, merged)
        if wrong != "no predicate":
            goes_on = loop_cond(goes_on)
        after, inside = switch(merged, goes_on)
    with device(B):
        moved = add(inside, entered if wrong == "a first value" else inside)
    merged.op._update_input(1, again(moved))
    message = {"no predicate": "one LoopCond, got 0", "a first value": "only Merges to use"}[wrong]
    with pytest.raises(InvalidArgumentError, match=f"spans devices: expected {message}"):
        parts_of(leave(after), x)


def test_a_constant_is_there_on_every_device() -> None:
    with device(A):
        x, p = placeholder("float32", []), placeholder("bool", [])
        c = constant(1.0, name="c")
    with device(B):
        chosen = switch(identity(x), p)[1]
        with device(B):
            y = add(chosen, identity(chosen))
        y.op._add_control_inputs([c.op])
    there = parts_of(y, x, p)[B]
    assert there.nodes[y.op.name].control_inputs == ("c",)
    assert not any(node.op == "_Recv" for node in there)
