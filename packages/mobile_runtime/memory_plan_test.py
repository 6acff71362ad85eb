"""The arena: no two values that are alive at once overlap, and little is wasted."""

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qanat.core import dtypes
from qanat.mobile_runtime.memory_plan import ALIGNMENT, Sharing, lower_bound, plan_arena
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue


def _value(size: int) -> ModelValue:
    return ModelValue("v", dtypes.uint8, (size,))


def _model(sizes: list[int], edges: list[tuple[list[int], list[int]]], outputs: list[int]) -> Model:
    nodes = [ModelNode(f"n{i}", "Op", tuple(a), tuple(b), {}) for i, (a, b) in enumerate(edges)]
    named = {f"y{i}": value for i, value in enumerate(outputs)}
    return Model(tuple(map(_value, sizes)), tuple(nodes), {"x": 0}, named)


@st.composite
def models(draw: Any) -> tuple[Model, Sharing]:
    """Random graphs, and random sharing of outputs with inputs."""
    sizes = [draw(st.integers(0, 400))]
    edges: list[tuple[list[int], list[int]]] = []
    sharing: list[dict[int, int]] = []
    for _ in range(draw(st.integers(0, 12))):
        inputs = draw(st.lists(st.integers(0, len(sizes) - 1), max_size=3))
        count = draw(st.integers(0, 2))
        outputs = list(range(len(sizes), len(sizes) + count))
        same = draw(st.booleans()) and inputs
        sizes += [sizes[inputs[0]] if same else draw(st.integers(0, 400)) for _ in outputs]
        edges.append((inputs, outputs))
        shares = [i for i in range(count) if inputs and draw(st.booleans())]
        sharing.append({i: draw(st.integers(0, len(inputs) - 1)) for i in shares})
    outputs = draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=3, unique=True))
    return _model(sizes, edges, outputs), sharing


@settings(max_examples=100, deadline=None)
@given(models())
def test_nothing_that_is_needed_is_overwritten(drawn: tuple[Model, Sharing]) -> None:
    """Runs the plan: each node writes its own number into its outputs' bytes; when a value is read,
    all of its bytes must be as its writer left them."""
    model, sharing = drawn
    planned = plan_arena(model, sharing)
    arena: list[int | None] = [None] * planned.arena_bytes
    written: dict[int, int] = {}

    def span(index: int) -> range:
        value = planned.values[index]
        assert value.offset is not None and value.offset % ALIGNMENT == 0
        end = value.offset + prod(value.shape)
        assert end <= planned.arena_bytes
        return range(value.offset, end)

    def write(index: int, mark: int) -> None:
        written[index] = mark
        for byte in span(index):
            arena[byte] = mark

    def check(index: int) -> None:
        assert all(arena[byte] == written[index] for byte in span(index))

    for value in planned.inputs.values():
        write(value, -1)
    for i, node in enumerate(planned.nodes):
        for value in node.inputs:
            check(value)
        for port, value in enumerate(node.outputs):
            write(value, 2 * i + port)
        for port, value in enumerate(node.inputs):
            shared = i < len(sharing) and port in sharing[i].values()
            overwritten = any(
                planned.values[value].offset == planned.values[o].offset for o in node.outputs
            )
            if not (shared and overwritten):
                check(value)
        for value in node.outputs:
            check(value)
    for value in planned.outputs.values():
        check(value)


@settings(max_examples=60, deadline=None)
@given(models())
def test_the_arena_is_between_the_bound_and_no_reuse(drawn: tuple[Model, Sharing]) -> None:
    model, sharing = drawn
    planned = plan_arena(model, sharing)
    used = {0, *(value for node in model.nodes for value in node.outputs)}
    alone = sum(-(-prod(model.values[v].shape) // ALIGNMENT) * ALIGNMENT for v in used)
    assert lower_bound(model, sharing) <= planned.arena_bytes <= alone


def test_a_chain_takes_two_buffers_and_one_where_it_may_share() -> None:
    edges = [([i], [i + 1]) for i in range(5)]
    model = _model([100] * 6, edges, [5])
    assert plan_arena(model).arena_bytes == 2 * 128 == lower_bound(model)
    assert plan_arena(model, [{0: 0}] * 5).arena_bytes == 128


def test_an_input_that_is_needed_later_is_not_shared() -> None:
    model = _model([64] * 3, [([0], [1]), ([0, 1], [2])], [2])
    planned = plan_arena(model, [{0: 0}, {0: 0}])
    assert planned.values[0].offset != planned.values[1].offset
    assert planned.values[2].offset == planned.values[0].offset
    assert planned.arena_bytes == 128


def test_a_constant_has_no_place_and_is_not_shared() -> None:
    constant = ModelValue("c", dtypes.uint8, (64,), np.zeros(64, np.uint8))
    node = ModelNode("n", "Op", (0,), (1,), {})
    model = Model((constant, _value(64)), (node,), {}, {"y": 1})
    planned = plan_arena(model, [{0: 0}])
    assert planned.values[0].offset is None
    assert (planned.values[1].offset, planned.arena_bytes) == (0, 64)


def test_sharing_of_what_a_node_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[Op\] expected sharing among 1 inputs.*'n0'"):
        plan_arena(_model([1, 1], [([0], [1])], [1]), [{0: 1}])
