"""Freezing: variables and training-only parts are gone, shapes and constants are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes, errors
from qanat.core.base_ops import constant, identity, placeholder, placeholder_with_default
from qanat.core.graph import Graph, control_dependencies
from qanat.core.session import Session
from qanat.core.session_config import SessionConfig
from qanat.core.target import LocalTarget
from qanat.mobile_runtime.freeze import Frozen, freeze
from qanat.ops import layers


def run(frozen: Frozen, *feeds: Any) -> list[Any]:
    """What the frozen step gives."""
    _, compiled = LocalTarget(SessionConfig(threads=1)).compile(frozen.step)
    return compiled.run([np.asarray(feed, np.float32) for feed in feeds], 60.0)


def ops_of(frozen: Frozen) -> list[str]:
    return [node.op for node in frozen.step if node.op not in ("_Arg", "Const")]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def test_variables_become_the_values_of_the_session() -> None:
    x = placeholder(dtypes.float32, [None, 3], name="x")
    w = ops.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    y = ops.matmul(x, w)
    with Session() as session:
        session.run(w.initializer)
        session.run(w.assign(w + 1))
        frozen = freeze(session, {"x": x}, {"y": y}, batch_size=2)
    assert ops_of(frozen) == ["MatMul"]
    given = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(run(frozen, given)[0], given @ (np.arange(6).reshape(3, 2) + 1))


def test_variables_become_the_values_of_a_checkpoint() -> None:
    x = placeholder(dtypes.float32, [None, 2], name="x")
    w = ops.get_variable("layer/w", initializer=np.full((2, 1), 7, np.float32))
    y = ops.matmul(x, w)
    reader = _Checkpoint({"layer/w": np.full((2, 1), 3, np.float32)})
    np.testing.assert_array_equal(run(freeze(reader, {"x": x}, {"y": y}), [[1.0, 2.0]])[0], [[9]])
    for wrong in (np.zeros((1, 2), np.float32), np.zeros((2, 1))):
        with pytest.raises(errors.FailedPreconditionError, match="'layer/w', got one of"):
            freeze(_Checkpoint({"layer/w": wrong}), {"x": x}, {"y": y})


def test_shapes_and_what_is_computed_from_them_are_constants() -> None:
    x = placeholder(dtypes.float32, [None, 4, 5])
    rows = ops.shape(x)[0] * 2
    y = ops.reshape(x * (constant(2.0) + 1), ops.stack([rows, 10]))
    frozen = freeze(_nothing(), {"x": x}, {"y": y}, batch_size=3)
    assert ops_of(frozen) == ["Mul", "Reshape"]
    assert frozen.step.nodes[frozen.step.fetches[0].node].shapes[0] == [6, 10]
    given = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    np.testing.assert_array_equal(run(frozen, given)[0], 3 * given.reshape(6, 10))


def test_dropout_is_gone_where_training_is_fixed_or_false_by_default() -> None:
    x = placeholder(dtypes.float32, [None, 4])
    fixed = placeholder(dtypes.bool_, [])
    default = placeholder_with_default(False, [])
    y = layers.dropout(layers.dropout(x * 2.0, 0.5, training=fixed), 0.5, training=default)
    frozen = freeze(_nothing(), {"x": x}, {"y": y}, fixed={fixed: False})
    assert ops_of(frozen) == ["Mul"]


def test_what_only_waits_is_gone() -> None:
    x = placeholder(dtypes.float32, [None, 2])
    count = ops.get_variable("count", initializer=0)
    with control_dependencies([count.assign_add(1)]):
        y = identity(x) + 1.0
    assert ops_of(freeze(_nothing(), {"x": x}, {"y": y})) == ["Add"]


def test_an_input_may_be_an_output_and_an_output_a_constant() -> None:
    x = placeholder(dtypes.float32, [None, 2])
    frozen = freeze(_nothing(), {"x": x}, {"x": x, "c": constant(2.0) * 3.0})
    assert ops_of(frozen) == []
    assert [np.asarray(v).tolist() for v in run(frozen, [[1.0, 2.0]])] == [[[1, 2]], 6]


def test_inputs_and_outputs_have_names() -> None:
    x = placeholder(dtypes.float32, [1, 2], name="x")
    for wrong in ([x], x, {"x": "x:0"}, {0: x}, None):
        given: Any = wrong
        with pytest.raises(TypeError, match=r"expected inputs as a map from names .*, got "):
            freeze(_nothing(), given, {"y": x})
        with pytest.raises(TypeError, match=r"expected outputs as a map from names .*, got "):
            freeze(_nothing(), {"x": x}, given)


def test_errors_name_the_op_and_the_line() -> None:
    x = placeholder(dtypes.float32, [None, 4], name="x")
    missing = placeholder(dtypes.float32, [4], name="missing")
    here = __file__.rpartition("/")[2]
    with pytest.raises(errors.InvalidArgumentError, match=f"Placeholder.*'missing'.*{here}"):
        freeze(_nothing(), {"x": x}, {"y": x + missing})
    noise = ops.random_normal([1, 4], name="noise")
    with pytest.raises(errors.UnimplementedError, match=f"without state.*noise.*{here}"):
        freeze(_nothing(), {"x": x}, {"y": x + noise})
    wide = placeholder(dtypes.float32, [None, None], name="wide")
    with pytest.raises(errors.ShapeError, match=f"Placeholder.*first dimension.*wide.*{here}"):
        freeze(_nothing(), {"wide": wide}, {"y": wide * 2.0})
    w = ops.get_variable("unsaved", initializer=np.zeros(4, np.float32))
    with pytest.raises(errors.FailedPreconditionError, match=f"'unsaved'.*{here}"):
        freeze(_nothing(), {"x": x}, {"y": x + w})
    with pytest.raises(errors.ShapeError, match="fixed value of shape"):
        freeze(_nothing(), {"x": x}, {"y": x + missing}, fixed={missing: [1.0]})
    with pytest.raises(ValueError, match="at least one output"):
        freeze(_nothing(), {"x": x}, {})
    with pytest.raises(ValueError, match="inputs that differ"):
        freeze(_nothing(), {"a": x, "b": x}, {"y": x})


@dataclass
class _Checkpoint:
    values: dict[str, Any]

    def has_tensor(self, name: str, /) -> bool:
        return name in self.values

    def get_tensor(self, name: str, /) -> Any:
        return self.values[name]


def _nothing() -> _Checkpoint:
    return _Checkpoint({})
