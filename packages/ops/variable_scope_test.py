"""Tests of variables by name."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes
from qanat.core.base_ops import constant, placeholder
from qanat.core.errors import ShapeError
from qanat.core.graph import Graph, GraphKeys
from qanat.core.shapes import TensorShape
from qanat.ops.variable_scope import AUTO_REUSE, get_variable, get_variable_scope, variable_scope
from qanat.ops.variables import Variable


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def test_names_nest_and_operations_follow() -> None:
    with variable_scope("outer"), variable_scope("inner"):
        variable = get_variable("w", [2])
        total = variable + 1
    assert variable.name == "outer/inner/w:0"
    assert total.op.name == "outer/inner/Add"
    assert variable.initializer.name == "outer/inner/w/Assign"


def test_a_second_variable_of_a_name_is_refused_and_the_message_says_where_the_first_is() -> None:
    get_variable("w", [2])
    with pytest.raises(
        ValueError, match=r"expected a new name, got w, made at .*variable_scope_test"
    ):
        get_variable("w", [2])


def test_reuse_shares_and_demands_that_there_is_one() -> None:
    with variable_scope("a"):
        variable = get_variable("w", [2])
    with variable_scope("a", reuse=True):
        assert get_variable("w") is variable
        with pytest.raises(ValueError, match="existing variable, got a/v"):
            get_variable("v", [2])


def test_auto_reuse_makes_once() -> None:
    with variable_scope("a", reuse=AUTO_REUSE):
        assert get_variable("w", [2]) is get_variable("w", [2])


def test_reuse_goes_on_in_inner_scopes_and_ends_with_its_own() -> None:
    with variable_scope("a"), variable_scope("b"):
        variable = get_variable("w", [2])
    with variable_scope("a", reuse=True), variable_scope("b"):
        assert get_variable("w", [2]) is variable
    assert get_variable_scope().reuse is False


@pytest.mark.parametrize(("shape", "dtype"), [([3], dtypes.float32), ([2], dtypes.float64)])
def test_reuse_with_another_shape_or_dtype_is_refused(shape: Any, dtype: Any) -> None:
    get_variable("w", [2])
    get_variable_scope().reuse_variables()
    with pytest.raises(ValueError, match="expected w's"):
        get_variable("w", shape, dtype)


def test_default_names_are_made_unique_but_the_same_when_the_outer_scope_is_entered_again() -> None:
    def layers() -> list[str]:
        names = []
        for _ in range(2):
            with variable_scope(None, default_name="layer") as scope:
                names.append(scope.name)
        return names

    with variable_scope("net"):
        assert layers() == ["net/layer", "net/layer_1"]
    with variable_scope("net", reuse=True):
        assert layers() == ["net/layer", "net/layer_1"]


def test_a_scope_object_can_be_entered_again() -> None:
    with variable_scope("a") as scope:
        variable = get_variable("w", [2])
    with variable_scope("elsewhere"), variable_scope(scope, reuse=True):
        assert get_variable("w") is variable


def test_defaults_of_a_scope_reach_its_variables() -> None:
    def penalty(variable: Any) -> Any:
        return ops.reduce_sum(variable * variable)

    with variable_scope(
        "a", initializer=ops.ones_initializer, regularizer=penalty, dtype=dtypes.float64
    ):
        variable = get_variable("w", [2])
    assert variable.dtype is dtypes.float64
    assert variable.initial_value.op.name.startswith("a/w/Initializer/ones")
    (loss,) = variable.graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name.startswith("a/w/Regularizer/")


def test_collections_and_trainable() -> None:
    kept = get_variable("kept", [2])
    frozen = get_variable("frozen", [2], trainable=False)
    local = ops.get_local_variable("local", [2])
    assert ops.global_variables() == [kept, frozen]
    assert ops.trainable_variables() == [kept]
    assert ops.local_variables() == [local]


def test_a_custom_getter_wraps_the_getter() -> None:
    def doubled(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **kwargs) * 2

    with variable_scope("a", custom_getter=doubled):
        assert get_variable("w", [2]).op.type == "Mul"
    assert [variable.op.name for variable in ops.global_variables()] == ["a/w"]


def test_a_value_as_initializer_needs_no_shape() -> None:
    assert get_variable("w", initializer=np.zeros((2, 3), np.float32)).shape == [2, 3]
    with pytest.raises(ValueError, match="fully known shape for v"):
        get_variable("v", [None, 2])


def test_the_graph_of_values_is_the_one_used() -> None:
    x = placeholder(dtypes.float32, [2])
    with Graph().as_default(), variable_scope("a", values=[x]):
        variable = get_variable("w", [2])
    assert variable.graph is x.graph


@pytest.mark.parametrize(
    ("initializer", "dtype"),
    [
        (np.ones(3), dtypes.float64),
        (np.ones(3, np.int64), dtypes.int64),
        (3, dtypes.int32),
        ([0.5, 1], dtypes.float32),
        (True, dtypes.bool_),
        (lambda: constant(np.array([1, 2])), dtypes.int64),
        (lambda: Variable(np.float64(1.0)), dtypes.float64),
    ],
)
def test_a_value_brings_its_dtype(initializer: Any, dtype: Any) -> None:
    value = initializer() if callable(initializer) else initializer
    with variable_scope("layer", dtype=dtypes.float16):
        variable = get_variable("v", initializer=value)
    assert variable.dtype is dtype
    with variable_scope("layer", reuse=True, dtype=dtypes.float16):
        assert get_variable("v", initializer=value) is variable
    assert get_variable("as_told", initializer=1, dtype=dtypes.float32).dtype is dtypes.float32


def test_an_initial_value_of_another_shape() -> None:
    def threes(shape: Any, dtype: Any) -> Any:
        return ops.ones([3], dtype)

    expected = r"expected an initial value of shape \[2\] for 'layer/w', got .*{}.*, of shape {}"
    with variable_scope("layer"):
        with pytest.raises(ShapeError, match=expected.format("threes", r"\[3\]")):
            get_variable("w", [2], initializer=threes)
        with pytest.raises(ShapeError, match=expected.format("NumPy", r"\[3\]")):
            get_variable("w", [2], initializer=np.ones(3))
        with pytest.raises(ShapeError, match=expected.format("'zeros'", r"\[\]")):
            get_variable("w", [2], initializer="zeros")
        any_shape = get_variable("w", [2], initializer=threes, validate_shape=False)
    assert any_shape.shape == TensorShape(None)
