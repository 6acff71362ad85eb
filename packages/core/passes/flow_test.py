"""Which loop and branch nodes are in, and what is refused."""

from typing import Annotated, Any

import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, identity, placeholder
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph, Output, control_dependencies
from qanat.core.op_def import In, Role, Shapes, op
from qanat.core.passes.flow import Flow, Place
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Ref, StepGraph
from qanat.core.passes.trim_values import trim_values
from qanat.core.passes.verify import verify
from qanat.core.shapes import SCALAR

T = Annotated[In, "T"]
Bool = Annotated[In, "bool"]
ANY = dtypes.ALL


@op("FlowTestSwitch", outputs="f: T, t: T", role=Role.SWITCH, T=ANY)
def switch(x: T, p: Bool) -> Shapes:
    return [x.shape, x.shape]


@op("FlowTestMerge", outputs="y: T, i: int32", role=Role.MERGE, T=ANY)
def merge(xs: Annotated[list[In], "N * T"]) -> Shapes:
    return [xs[0].shape, SCALAR]


@op("FlowTestEnter", outputs="y: T", role=Role.ENTER, T=ANY)
def enter(x: T, *, frame_name: str) -> Shapes:
    return [x.shape]


@op("FlowTestExit", outputs="y: T", role=Role.EXIT, T=ANY)
def leave(x: T) -> Shapes:
    return [x.shape]


@op("FlowTestNext", outputs="y: T", role=Role.NEXT_ITERATION, T=ANY)
def again(x: T) -> Shapes:
    return [x.shape]


@op("FlowTestAdd", outputs="z: T", T=ANY)
def add(x: T, y: T) -> Shapes:
    return [x.shape]


def loop(x: Output, p: Output, body: Any, frame: str = "loop") -> Output:
    entered = enter(x, frame_name=frame)
    merged = merge([entered, entered])[0]
    after, inside = switch(merged, enter(p, frame_name=frame))
    merged.op._update_input(1, again(body(inside)))
    return leave(after)


def step(y: Output, *fed: Output) -> StepGraph:
    return verify(prune(fed, [y], []), "prune")


def test_places() -> None:
    with Graph().as_default():
        x, p = placeholder("float32", [], name="x"), placeholder("bool", [], name="p")
        f, t = switch(x, p)
        chosen = merge([identity(f), identity(t, name="taken")], name="chosen")[0]
        y = identity(loop(chosen, p, lambda v: identity(v, name="body")), name="y")
        graph = step(y, x, p)
    flow = Flow(graph)
    assert flow.place("y") == Place((), frozenset())
    assert flow.place("taken") == Place((), frozenset({(Ref("_arg_p_0", 0), 1)}))
    assert flow.place_of(Ref("chosen", 0)).taken == frozenset()
    inside = flow.place("body")
    assert inside.frame == ("loop",) and len(inside.taken) == 1
    assert list(graph.nodes).index("body") > list(graph.nodes).index("y")


def test_a_loop_may_be_pruned_away() -> None:
    with Graph().as_default():
        x, p = placeholder("float32", []), placeholder("bool", [])
        y = loop(x, p, identity)
        z = add(y, x)
        assert len(step(z, x, y)) == 3


@pytest.mark.parametrize("through_control", [False, True])
def test_values_of_several_loops_do_not_mix(through_control: bool) -> None:
    with Graph().as_default():
        x = placeholder("float32", [], name="x")
        inside = enter(x, frame_name="loop", name="inside")
        if through_control:
            with control_dependencies([identity(x, name="outside")]):
                y = leave(identity(inside))
        else:
            y = leave(add(inside, identity(x, name="outside")))
        with pytest.raises(
            InvalidArgumentError, match=r"'inside' of loop 'loop' \(made at .*outside' of no loop"
        ):
            step(y, x)


def test_what_is_in_a_loop_is_not_fetched() -> None:
    with Graph().as_default():
        x = placeholder("float32", [])
        inside = identity(enter(x, frame_name="loop"), name="inside")
        with pytest.raises(InvalidArgumentError, match=r"loop 'loop' \(made at .*flow_test.py"):
            step(inside, x)
        with pytest.raises(InvalidArgumentError, match="loop 'loop'"):
            verify(prune([x], [], [inside.op]), "prune")
        with pytest.raises(InvalidArgumentError, match="a value of a loop, got one of none"):
            step(leave(x), x)


def test_constants_do_not_wait_where_others_do() -> None:
    with Graph().as_default():
        x, p = placeholder("float32", []), placeholder("bool", [])
        f, t = switch(x, p)
        with control_dependencies([identity(t, name="pivot")]):
            beside, alone = constant(1.0, name="beside"), constant(2.0, name="alone")
        y = merge([add(t, beside), f])[0]
        z = merge([alone, f], name="z")[0]
        trimmed = verify(trim_values(step(add(y, z), x, p)), "trim_values")
    assert trimmed.nodes["beside"].control_inputs == ()
    sender = trimmed.nodes["z/_value_0"]
    assert trimmed.nodes["z"].inputs[0] == Ref("z/_value_0", 0)
    assert sender.inputs == (Ref("alone", 0),) and sender.control_inputs == ("pivot",)
