"""Tests of variables that need no step."""

from collections.abc import Iterator

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import constant, no_op
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph, control_dependencies
from qanat.ops.variables import Variable


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def test_names_and_types() -> None:
    variable = Variable([1.0, 2.0], name="v")
    assert variable.name == "v:0" and variable.op.type == "VarHandleOp"
    assert variable.dtype is dtypes.float32 and variable.shape == [2]
    assert variable.op.get_attr("shared_name") == "v"
    assert Variable(0, name="v").name == "v_1:0"
    assert repr(variable) == "<qn.Variable 'v:0' shape=[2] dtype=float32>"


def test_a_function_makes_the_initial_value_in_a_scope_of_its_own() -> None:
    variable = Variable(lambda: ops.zeros([3]), dtype=dtypes.float32, name="v")
    assert variable.initial_value.op.name == "v/Initializer/zeros"


def test_what_is_made_inside_control_dependencies_does_not_wait_for_them() -> None:
    with control_dependencies([no_op()]):
        variable = Variable(1.0)
    assert not variable.op.control_inputs and not variable.initializer.control_inputs


def test_a_read_waits_for_the_control_dependencies_around_it() -> None:
    variable = Variable(1.0)
    with control_dependencies([variable.assign_add(1.0, read_value=False)]):
        total = variable + 1
    read = total.op.inputs[0].op
    assert read.type == "ReadVariableOp"
    assert [op.type for op in read.control_inputs] == ["AssignAddVariableOp"]


def test_operators_read_the_variable() -> None:
    variable = Variable([[1.0, 2.0]])
    assert (variable @ [[1.0], [2.0]]).shape == [1, 1]
    assert (np.float32(1) - variable).op.type == "Sub"
    assert (-variable).shape == [1, 2]
    assert variable[0].shape == [2]


def test_assign_gives_the_new_value_or_the_write() -> None:
    variable = Variable(1.0)
    assert variable.assign(2.0).op.type == "ReadVariableOp"
    assert variable.assign_sub(2.0, read_value=False).type == "AssignSubVariableOp"
    assert ops.assign_add(variable, 2.0).op.control_inputs[0].type == "AssignAddVariableOp"


def test_another_shape_or_dtype_is_refused_with_the_line() -> None:
    variable = Variable([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"shape \[2\], got \[3\].*variables_test.py"):
        variable.assign([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="expected float32.*qn.cast.*variables_test.py"):
        variable.assign(constant(np.zeros(2)))


def test_a_variable_whose_shape_may_change() -> None:
    variable = Variable([1.0, 2.0], validate_shape=False)
    assert variable.shape.rank is None
    variable.assign([1.0, 2.0, 3.0])


def test_it_has_to_begin_with_something() -> None:
    with pytest.raises(ValueError, match="expected an initial_value"):
        Variable()
    with pytest.raises(ShapeError, match=r"of shape \[2\] for 'short', got \[1\]"):
        Variable([1.0], expected_shape=[2], name="short")
    with pytest.raises(TypeError, match=r"expected int32, got 1.5 .*variables_test.py"):
        Variable(1.5, dtype=dtypes.int32)


def test_a_variable_is_no_value() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(Variable([1.0]))
    with pytest.raises(TypeError, match="`in` cannot look"):
        1.0 in Variable([1.0])  # noqa: B015
    with pytest.raises(TypeError, match="no truth value"):
        bool(Variable(True))
    with pytest.raises(TypeError, match="no NumPy array"):
        np.asarray(Variable([1.0]))


def test_an_initializer_of_all() -> None:
    first, second = Variable(1.0), Variable(2.0)
    init = ops.global_variables_initializer()
    assert init.control_inputs == [first.initializer, second.initializer]
