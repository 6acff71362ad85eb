"""The rule that joins pointwise ops, by the programs it writes; what they compute is compared with
the unfused step in tests/conformance."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph, Operation, Output, control_dependencies
from qanat.core.kernel_table import KernelTable
from qanat.core.passes.optimise import optimise
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Node, StepGraph
from qanat.core.passes.verify import verify
from qanat.ops import add_n, exp, multiply, reduce_sum, tanh
from qanat.ops.state import (
    assign_sub_variable_op,
    assign_variable_op,
    read_variable_op,
    var_handle_op,
)

FUSED = KernelTable({"CPU": [("_FusedElementwise", {"T": dtypes.float32.number})]})


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with Graph().as_default():
        yield


def optimised(
    fetches: Sequence[Output],
    targets: Sequence[Operation] = (),
    feeds: Sequence[Output] = (),
    kernels: KernelTable = FUSED,
) -> StepGraph:
    pruned = prune(feeds, fetches, targets)
    placed = pruned.with_nodes([node.replace(device="/device:CPU:0") for node in pruned])
    return verify(optimise(placed, kernels), "optimise")


def fused(step: StepGraph) -> list[Node]:
    return [node for node in step if node.op == "_FusedElementwise"]


def vector(*values: float) -> Output:
    return constant(np.array(values, np.float32))


def variable(name: str) -> Output:
    handle: Output = var_handle_op(dtype=dtypes.float32, shape=[3], shared_name=name)
    return handle


def test_a_chain_becomes_one_program() -> None:
    x, y = vector(1, 2, 3), vector(4, 5, 6)
    step = optimised([tanh(x * y + 1.0)])
    (node,) = fused(step)
    assert node.attrs["program"] == "t0=Mul(v0,v1);t1=Add(t0,s2);t2=Tanh(t1);out=t2"
    assert [n.op for n in step] == ["Const", "Const", "Const", "_FusedElementwise"]


def test_what_others_see_is_left_alone() -> None:
    x = vector(1, 2, 3)
    square = x * x
    total = tanh(square)
    step = optimised([total, square])
    assert not fused(step)
    step = optimised([total, reduce_sum(square)])
    assert not fused(step)


def test_unknown_and_broadcast_shapes_are_left_alone() -> None:
    x = placeholder(dtypes.float32, [None, 3])
    assert not fused(optimised([tanh(x * x)], feeds=[x]))
    rows = multiply(vector(1, 2, 3), np.ones((2, 3), np.float32))
    assert not fused(optimised([exp(rows)]))  # Mul broadcasts: it stays out, and exp is alone


def test_add_n_is_a_chain_of_sums() -> None:
    x = vector(1, 2, 3)
    (node,) = fused(optimised([exp(add_n([x, x, x]))]))
    assert node.attrs["program"] == "t0=Add(v0,v0);t1=Add(t0,v0);t2=Exp(t1);out=t2"


def momentum(
    accumulation: Output, weights: Output, gradient: Output
) -> tuple[Operation, Operation]:
    read = read_variable_op(accumulation, dtype=dtypes.float32)
    new = 0.9 * read + gradient
    return (
        assign_variable_op(accumulation, new),
        assign_sub_variable_op(weights, 0.1 * new),
    )


def test_an_update_of_two_variables_is_one_pass() -> None:
    updates = momentum(variable("a"), variable("w"), vector(1, 2, 3))
    step = optimised([], list(updates))
    (node,) = fused(step)
    program = node.attrs["program"].split(";")
    assert program[:3] == ["t0=Mul(s1,h0)", "t1=Add(t0,v2)", "t2=Mul(s0,t1)"]
    assert sorted(program[3:]) == ["h0=t1", "h1-=t2"]
    assert step.targets == (node.name,)
    assert len(node.inputs) == 5


def test_who_waited_for_an_update_waits_for_the_program() -> None:
    x = vector(1, 2, 3)
    updates = momentum(variable("a"), variable("w"), x)
    with control_dependencies(updates):
        after = exp(x)
    step = optimised([after])
    (node,) = fused(step)
    assert step.nodes[after.op.name].control_inputs == (node.name,)


def test_a_variable_that_is_not_read_is_not_replaced_by_a_program() -> None:
    x = vector(1, 2, 3)
    step = optimised([], [assign_variable_op(variable("w"), tanh(x * x))])
    assert all("h0=" not in node.attrs["program"] for node in fused(step))


def test_without_a_kernel_nothing_changes() -> None:
    step = optimised([tanh(vector(1, 2) * 2.0)], kernels=KernelTable({}))
    assert [node.op for node in step] == ["Const", "Const", "Mul", "Tanh"]


def test_a_last_op_that_repeats_an_operand_is_left_alone() -> None:
    x, y = vector(1, 2, 3), constant(np.ones((2, 3), np.float32))
    assert fused(optimised([exp(y) * x])) == []
    assert len(fused(optimised([tanh(exp(y)) * x]))) == 1


@pytest.mark.parametrize(("count", "is_fused"), [(64, True), (65, False)])
def test_a_program_has_no_more_values_than_kernels_have_room_for(
    count: int, is_fused: bool
) -> None:
    terms = [vector(i, i, i) for i in range(count)]
    step = optimised([tanh(add_n(terms))])
    assert bool(fused(step)) == is_fused
    step = optimised([add_n([tanh(term) for term in terms])])
    assert all(node.attrs["N"] <= 64 for node in fused(step))


def test_a_program_has_no_more_variables_than_kernels_have_room_for() -> None:
    change = tanh(vector(1, 2, 3))
    updates = [assign_sub_variable_op(variable(f"v{i}"), change) for i in range(17)]
    assert not fused(optimised([], updates))
    (node,) = fused(optimised([], updates[:16]))
    assert node.attrs["H"] == 16


def test_a_program_has_no_more_instructions_than_kernels_have_room_for() -> None:
    x = total = vector(1, 2, 3)
    for _ in range(4):
        total = add_n([total, *[x] * 30])
    lengths = [node.attrs["program"].count("Add(") for node in fused(optimised([total]))]
    assert lengths and max(lengths) <= 96


def test_a_variable_that_is_read_after_its_update_is_read_by_itself() -> None:
    v, mean, g = variable("v"), variable("mean"), vector(1, 2, 3)
    d = g * 0.5
    with control_dependencies([assign_sub_variable_op(v, d)]):
        new = read_variable_op(v, dtype=dtypes.float32)
    step = optimised([], [assign_sub_variable_op(mean, new + d)])
    (read,) = [node for node in step if node.op == "ReadVariableOp"]
    assert not any("h1+" in node.attrs["program"] for node in fused(step))
    assert read.control_inputs


def test_a_value_that_is_only_moved_between_variables_is_read_by_itself() -> None:
    u, v = variable("u"), variable("v")
    old = read_variable_op(u, dtype=dtypes.float32)
    new = old * vector(1, 2, 3)
    step = optimised([], [assign_variable_op(u, new), assign_sub_variable_op(v, old)])
    assert [node.op for node in step if node.op == "ReadVariableOp"] == ["ReadVariableOp"]
    assert not any("h1-=h0" in node.attrs["program"] for node in fused(step))


def test_variables_are_written_in_order() -> None:
    u, v, d = variable("u"), variable("v"), tanh(vector(1, 2, 3))
    first = assign_sub_variable_op(v, d)
    with control_dependencies([first]):
        second = assign_sub_variable_op(u, d)
    (node,) = fused(optimised([], [first, second]))
    assert node.attrs["program"] == "t0=Tanh(v0);h0-=t0;h1-=t0"
    handles = [ref.node for ref in node.inputs[:2]]
    assert handles == [v.op.name, u.op.name]
