"""There is one global step a graph."""

import pytest

from qanat.core import dtypes
from qanat.core.graph import Graph, name_scope
from qanat.core.session import Session
from qanat.ops.variables import global_variables, trainable_variables
from qanat.training.global_step import (
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)


def test_creation() -> None:
    with Graph().as_default():
        assert get_global_step() is None
        with name_scope("somewhere"):
            step = get_or_create_global_step()
        assert step.op.name == "global_step" and step.dtype is dtypes.int64
        assert get_or_create_global_step() is get_global_step() is step
        assert global_variables() == [step] and trainable_variables() == []
        with pytest.raises(ValueError, match="expected a graph without a global step"):
            create_global_step()


def test_another_graph() -> None:
    graph = Graph()
    step = create_global_step(graph)
    assert step.graph is graph and get_global_step(graph) is step


def test_value() -> None:
    with Graph().as_default(), Session() as session:
        step = create_global_step()
        session.run(step.initializer)
        session.run(step.assign_add(3))
        assert global_step(session, step) == 3
