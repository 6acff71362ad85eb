"""Tests of placement, on two types of devices that exist on paper only."""

from typing import Annotated, Any

import pytest

from qanat.core import dtypes, kernel_table
from qanat.core.base_ops import constant, identity, no_op, placeholder
from qanat.core.device_name import DeviceName
from qanat.core.errors import InvalidArgumentError, UnimplementedError
from qanat.core.graph import Graph, colocate_with, device
from qanat.core.kernel_table import KernelTable
from qanat.core.op_def import Handle, In, Operation, Output, Shapes, op
from qanat.core.passes.place import place
from qanat.core.passes.prune import prune
from qanat.core.shapes import TensorShape

GPU = DeviceName.from_string("/job:localhost/task:0/device:GPU:0")
CPU = DeviceName.from_string("/job:localhost/task:0/device:CPU:0")
DEVICES = [GPU, CPU]

KERNELS = KernelTable(
    {
        "CPU": [
            (name, {}) for name in ("Const", "Identity", "NoOp", "PlaceTestHandle", "PlaceTestRead")
        ],
        "GPU": [
            ("Identity", {"T": dtypes.float32.number}),
            ("Identity", {"T": dtypes.float16.number}),
            ("NoOp", {}),
            ("PlaceTestRead", {}),
        ],
    }
)


@op("PlaceTestHandle", outputs="h: resource", stateful=True)
def handle() -> Shapes:
    return [Handle(dtypes.float32, TensorShape([]))]


@op("PlaceTestRead", outputs="value: float32")
def read(h: Annotated[In, "resource"]) -> Shapes:
    return [h.handle_shape]


@op("PlaceTestNowhere", outputs="value: float32")
def nowhere() -> Shapes:
    return [TensorShape([])]


def placed(*targets: Operation | Output, soft: bool = False) -> dict[str, str]:
    ops = [t.op if isinstance(t, Output) else t for t in targets]
    step = place(prune([], [], ops), DEVICES, KERNELS, allow_soft_placement=soft)
    return {node.name: node.device.rpartition("/device:")[2] for node in step}


def test_the_preferred_device_that_has_a_kernel_wins() -> None:
    with Graph().as_default():
        a = constant(1.0, name="a")
        b = identity(a, name="b")
        c = identity(constant(1, name="i"), name="c")
        assert placed(b, c) == {"a": "CPU:0", "b": "GPU:0", "i": "CPU:0", "c": "CPU:0"}


def test_fed_values_can_be_anywhere() -> None:
    with Graph().as_default():
        x = placeholder("float32", name="x")
        step = place(prune([x], [identity(x, name="y")], []), DEVICES, KERNELS)
        assert step.nodes["y"].device == str(GPU)


def test_user_constraints_hold() -> None:
    with Graph().as_default():
        with device("/cpu:0"):
            a = no_op(name="a")
        with device("/job:localhost"):
            b = no_op(name="b")
        assert placed(a, b) == {"a": "CPU:0", "b": "GPU:0"}


def test_users_of_a_resource_stand_with_it() -> None:
    with Graph().as_default():
        assert placed(read(handle(name="h"), name="r")) == {"h": "CPU:0", "r": "CPU:0"}


def test_colocated_nodes_share_a_device_even_through_one_that_is_pruned() -> None:
    with Graph().as_default():
        pruned = no_op(name="pruned")
        with colocate_with(pruned):
            a, b = no_op(name="a"), constant(1.0, name="b")
        assert placed(a, b) == {"a": "CPU:0", "b": "CPU:0"}


@pytest.mark.parametrize(("packages", "hint"), [((), True), ((object(),), False)])
def test_a_refusal_for_want_of_any_kernels(
    packages: Any, hint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_table, "kernel_packages", lambda: packages)
    with Graph().as_default(), pytest.raises(UnimplementedError) as caught:
        placed(nowhere(name="n"))
    assert ("no kernels are installed: install qanat-kernels-cpu" in str(caught.value)) is hint


def test_refusals_say_what_exists() -> None:
    with Graph().as_default():
        with pytest.raises(UnimplementedError) as caught:
            placed(nowhere(name="n"))
        assert "the kernels that exist: none on any device" in str(caught.value)
        assert "(node 'n', made at" in str(caught.value)
        with device("/gpu:0"):
            i = identity(constant(1, name="i"), name="j")
        table = KernelTable({"GPU": [("Identity", {"T": 1}), ("Identity", {"T": 19})]})
        with pytest.raises(UnimplementedError) as caught:
            place(prune([], [], [i.op]), [GPU], table)
        assert "expected a kernel for dtype=int32" in str(caught.value)
        assert table.describe("Identity") == "GPU: T=float32 | T=float16"


def test_constraints_that_cannot_be_met() -> None:
    with Graph().as_default():
        with device("/gpu:0"):
            a = constant(1.0, name="a")
        expected = (
            r"\[Const\] expected one of the devices .*CPU:0, got 'a' on /device:GPU:0; allow_"
        )
        with pytest.raises(InvalidArgumentError, match=expected) as caught:
            placed(a)
        assert caught.value.op is a.op
        assert placed(a, soft=True) == {"a": "CPU:0"}


def test_constraints_that_contradict_each_other() -> None:
    with Graph().as_default():
        with device("/cpu:0"):
            h = handle(name="h")
        with device("/gpu:0"):
            r = read(h, name="r")
        with pytest.raises(
            InvalidArgumentError, match="expected devices that agree .* 'h' on /dev"
        ):
            placed(r)
        assert placed(r, soft=True) == {"h": "CPU:0", "r": "CPU:0"}


def test_groups_that_no_device_has_all_kernels_for() -> None:
    table = KernelTable({"GPU": [("PlaceTestHandle", {})], "CPU": [("PlaceTestRead", {})]})
    with Graph().as_default():
        r = read(handle(name="h"), name="r")
        with pytest.raises(
            UnimplementedError, match="kernels for all of 'h' .*, 'r' .*, which stand"
        ):
            place(prune([], [r], []), DEVICES, table)


@pytest.mark.parametrize("soft", [False, True])
def test_a_resource_is_where_it_is(soft: bool) -> None:
    table = KernelTable({kind: [("PlaceTestHandle", {}), ("PlaceTestRead", {})]
                         for kind in ("CPU", "GPU")})  # fmt: skip
    with Graph().as_default():
        step = prune([], [read(handle(name="h"), name="r")], [])
        for home in (CPU, GPU):
            placed_there = place(step, DEVICES, table, soft, homes={"h": str(home)})
            assert {node.device for node in placed_there} == {str(home)}


def test_soft_placement_does_not_move_a_resource() -> None:
    with Graph().as_default():
        h = handle(name="h")
        with device("/cpu:0"):
            r = read(h, name="r")
        step, homes = prune([], [r], []), {"h": str(GPU)}
        table = KernelTable({kind: [("PlaceTestHandle", {}), ("PlaceTestRead", {})]
                             for kind in ("CPU", "GPU")})  # fmt: skip
        assert place(step, DEVICES, table, True, homes=homes).nodes["r"].device == str(GPU)
        expected = "one of the devices .*GPU:0 .where an earlier step has put 'h'., got 'r' on .*"
        with pytest.raises(InvalidArgumentError, match=f"{expected}CPU:0; allow_soft_placement"):
            place(step, DEVICES, table, homes=homes)
        # On the GPU of KERNELS there is none for the handle itself.
        expected = "expected a kernel for this op on one of .*GPU:0 .where an earlier .* 'h'"
        with pytest.raises(UnimplementedError, match=expected):
            place(step, DEVICES, KERNELS, True, homes=homes)


def test_resources_of_several_homes_do_not_stand_together() -> None:
    with Graph().as_default():
        a = handle(name="a")
        with colocate_with(a.op):
            b = handle(name="b")
        step = prune([], [read(a, name="r"), read(b, name="s")], [])
        with pytest.raises(InvalidArgumentError, match="'a' on .*CPU:0, 'b' on .*GPU:0"):
            place(step, DEVICES, KERNELS, True, homes={"a": str(CPU), "b": str(GPU)})
