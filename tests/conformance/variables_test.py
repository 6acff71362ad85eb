"""Variables in steps: what they hold, when, and what happens before they hold anything."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.errors import FailedPreconditionError
from qanat.core.graph import Graph, control_dependencies
from qanat.core.session import Session
from qanat.ops.variables import Variable


@pytest.fixture
def session() -> Iterator[Session]:
    with Graph().as_default() as graph, Session(graph=graph) as session:
        yield session


def test_values_outlive_a_step_and_belong_to_the_session(session: Session) -> None:
    counter = Variable(10, name="counter")
    step = counter.assign_add(1)
    session.run(ops.global_variables_initializer())
    assert [session.run(step) for _ in range(3)] == [11, 12, 13]
    assert session.run(counter) == 13 and counter.eval() == 13
    with Session(graph=session.graph) as other:
        other.run(counter.initializer)
        assert other.run(counter) == 10
    assert session.run(counter) == 13


def test_to_read_before_initialization_is_an_error_that_names_variable_and_line(
    session: Session,
) -> None:
    weights = Variable([1.0], name="layer/weights")
    made = weights.op.user_line
    used = weights + 1
    with pytest.raises(FailedPreconditionError, match="layer/weights.*variables_test.py") as raised:
        session.run(used)
    assert f"'layer/weights' was made at {made} (node" in str(raised.value)
    session.run(weights.initializer)
    assert session.run(weights + 1) == [2.0]


def test_what_was_read_does_not_change(session: Session) -> None:
    variable = Variable(np.zeros(1000))
    session.run(variable.initializer)
    before = variable.read_value()
    with control_dependencies([before]):
        after = variable.assign_add(np.ones(1000))
    old, new = session.run([before, after])
    assert not old.any() and new.all()
    held = session.run(variable)
    session.run(after)
    assert (held == 1).all()


def test_which_variables_have_no_value(session: Session) -> None:
    first, second = Variable(1.0, name="first"), Variable(2.0, name="second")
    report = ops.report_uninitialized_variables()
    assert session.run(report).tolist() == [b"first", b"second"]
    session.run(second.initializer)
    assert session.run(report).tolist() == [b"first"]
    assert not session.run(ops.is_variable_initialized(first))
    session.run(first.initializer)
    assert session.run(report).size == 0


def test_the_initialized_value_of_one_begins_another(session: Session) -> None:
    first = Variable(3.0)
    second = Variable(first.initialized_value() * 2)
    session.run(ops.global_variables_initializer())
    assert session.run(second) == 6
    session.run(first.assign(5.0))
    session.run(second.initializer)
    assert session.run([first, second]) == [5, 10]


def test_load_sets_without_new_nodes(session: Session) -> None:
    variable = Variable([1, 2], dtype=dtypes.int64)
    nodes = len(session.graph.get_operations())
    variable.load([3, 4], session)
    assert session.run(variable).tolist() == [3, 4]
    assert len(session.graph.get_operations()) == nodes


def test_a_value_whose_shape_may_change(session: Session) -> None:
    variable = Variable([1.0], validate_shape=False)
    session.run(variable.initializer)
    session.run(variable.assign([1.0, 2.0, 3.0]))
    assert session.run(variable * 2).tolist() == [2, 4, 6]


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int32])
def test_initializers_of_scopes_run(session: Session, dtype: Any) -> None:
    with ops.variable_scope("net", dtype=dtype):
        weights = ops.get_variable("w", [20, 30])
    session.run(ops.global_variables_initializer())
    value = session.run(weights)
    assert value.shape == (20, 30)
    assert value.any() == dtype.is_floating and np.abs(value).max() <= np.sqrt(6 / 50)
