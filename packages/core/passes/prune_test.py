"""Tests of pruning, and of the text that shows its result."""

from typing import Annotated

import pytest

from qanat.core.base_ops import constant, identity, no_op, placeholder
from qanat.core.errors import InvalidArgumentError
from qanat.core.graph import Graph, control_dependencies, device
from qanat.core.op_def import In, Shapes, op
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Ref
from qanat.core.passes.verify import verify
from qanat.core.shapes import UNKNOWN, TensorShape, broadcast

T = Annotated[In, "T"]


@op("PruneTestAdd", outputs="z: T", T={"float32", "int32"})
def add(x: T, y: T) -> Shapes:
    return [broadcast(x.shape, y.shape)]


@op("PruneTestFilled", outputs="z: float32")
def filled(dims: Annotated[In, "int32"]) -> Shapes:
    return [TensorShape(dims.value)]


def test_keeps_what_is_needed_in_an_order_that_runs() -> None:
    with Graph().as_default():
        a, b = constant([1.0, 2.0], name="a"), constant(3.0, name="b")
        unused = identity(a, name="unused")
        with device("/cpu:0"):
            c = add(a, b, name="c")
        step = verify(prune([], [c], []), "prune")
    assert str(step) == (
        "a = Const[dtype=float32, value=float32[2]{1.0, 2.0}]() : float32[2]\n"
        "b = Const[dtype=float32, value=float32[]{3.0}]() : float32[]\n"
        "c = PruneTestAdd[T=float32](a, b) @/device:CPU:0 : float32[2]\n"
        "return c:0\n"
    )
    assert unused.op.name not in step.nodes
    assert step.nodes["c"].origin is c.op and [n.name for n in step.consumers["a"]] == ["c"]


def test_feeds_cut_the_graph() -> None:
    with Graph().as_default():
        x = placeholder("float32", [2], name="x")
        y = add(x, 1.0, name="y")
        z = add(y, y, name="z")
        step = verify(prune([y], [z, y], []), "prune")
    assert list(step.nodes) == ["_arg_y_0", "z"]
    assert step.feeds == ("_arg_y_0",) and step.fetches == (Ref("z", 0), Ref("_arg_y_0", 0))
    assert "_arg_y_0 = _Arg[T=float32, index=0, shape=[2]]() : float32[2]" in str(step)


def test_what_is_fed_for_a_constant_leaves_no_shape_that_came_of_it() -> None:
    with Graph().as_default():
        k = constant([2, 3], name="k")
        y = identity(filled(k), name="y")
        fed = verify(prune([k], [y], []), "prune")
        kept = verify(prune([], [y], []), "prune")
    assert y.shape == [2, 3] and kept.nodes["y"].shapes == (y.shape,)
    assert fed.nodes["y"].shapes == (UNKNOWN,)


def test_nothing_waits_for_a_placeholder_that_is_fed() -> None:
    with Graph().as_default():
        x = placeholder("float32", [], name="x")
        with control_dependencies([x]):
            y = constant(1.0, name="y")
        step = verify(prune([x], [y], []), "prune")
        assert step.nodes["y"].control_inputs == () and "x" not in step.nodes
        with pytest.raises(InvalidArgumentError, match="expected a value of float32"):
            prune([], [y], [])


def test_control_inputs_and_targets_are_needed_too() -> None:
    with Graph().as_default():
        a = no_op(name="a")
        with control_dependencies([a]):
            b = no_op(name="b")
        step = verify(prune([], [], [b]), "prune")
    assert list(step.nodes) == ["a", "b"] and step.targets == ("b",)
    assert str(step) == "a = NoOp()\nb = NoOp() ^a\nrun b\n"


def test_unfed_placeholders_are_found_before_anything_runs() -> None:
    with Graph().as_default():
        x = placeholder("float32", [None, 3], name="x")
        y = identity(x)
        with pytest.raises(InvalidArgumentError) as caught:
            prune([], [y], [])
    message = str(caught.value)
    assert "expected a value of float32[?,3] in feed_dict for 'x:0'" in message
    assert "prune_test.py:" in message and caught.value.op is x.op


def test_long_chains() -> None:
    with Graph().as_default():
        x = constant(1.0)
        for _ in range(5000):
            x = identity(x)
        assert len(prune([], [x], [])) == 5001
