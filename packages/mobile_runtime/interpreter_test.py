"""The interpreter of phones, in Python: the same bits as a session, and errors by name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qanat.core import dtypes, errors
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph, Output
from qanat.core.session import Session
from qanat.mobile_runtime.interpreter import Interpreter, probe
from qanat.mobile_runtime.model import Model, ModelNode, ModelValue
from qanat.mobile_runtime.model_file import write_model
from qanat.mobile_runtime.testing import lower
from qanat.ops import (
    argmax,
    cast,
    concat,
    gather,
    matmul,
    nn,
    reduce_mean,
    reshape,
    transpose,
)

Array = np.ndarray[Any, Any]


def numbers(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def lenet(images: Output) -> Output:
    """A small network of LeNet's kind, with constants for weights."""
    x = images
    for channels in ((1, 8), (8, 16)):
        x = nn.conv2d(x, constant(numbers(5, 5, *channels)), 1, "SAME")
        x = nn.max_pool(nn.relu(nn.bias_add(x, numbers(channels[1]))), 2, 2, "SAME")
    x = reshape(x, [2, -1])
    return matmul(x, constant(numbers(7 * 7 * 16, 10))) + numbers(10)


def mixed(x: Output) -> Output:
    """Ops of other families."""
    y = concat([transpose(x), gather(transpose(x), [2, 0])], 0)
    return cast(argmax(nn.softmax(y * 2.0 - reduce_mean(y)), 1), dtypes.float32)


def compare(
    path: Path, build: Callable[[Output], Output], feed: Array, optimise: bool = True
) -> None:
    with Graph().as_default(), Session() as session:
        x = placeholder(dtypes.float32, feed.shape)
        y = build(x)
        write_model(path, lower({"x": x}, {"y": y}, optimise))
        expected = session.run(y, {x: feed})
    with Interpreter(path) as interpreter:
        for _ in range(2):
            actual = interpreter.run({"x": feed})
            np.testing.assert_array_equal(actual["y"], expected, strict=True)


@pytest.mark.parametrize("optimise", [False, True])
def test_the_bits_are_those_of_a_session(tmp_path: Path, optimise: bool) -> None:
    compare(tmp_path / "lenet", lenet, numbers(2, 28, 28, 1), optimise)
    compare(tmp_path / "mixed", mixed, numbers(3, 5), optimise)


def doubled() -> Model:
    return Model(
        values=(
            ModelValue("x:0", dtypes.float32, (2, 3), offset=0),
            ModelValue("two", dtypes.float32, (), np.array(2, np.float32)),
            ModelValue("y:0", dtypes.float32, (2, 3), offset=64),
        ),
        nodes=(ModelNode("y", "Mul", (0, 1), (2,), {"T": dtypes.float32}),),
        inputs={"x": 0},
        outputs={"y": 2, "same": 0},
        arena_bytes=128,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_model(tmp_path / "model", doubled())
    return tmp_path / "model"


def test_a_model_describes_itself(path: Path) -> None:
    interpreter = Interpreter(path)
    assert interpreter.inputs == {"x": (dtypes.float32, (2, 3))}
    assert interpreter.outputs == {
        "y": (dtypes.float32, (2, 3)),
        "same": (dtypes.float32, (2, 3)),
    }
    assert interpreter.arena_bytes == 128
    assert interpreter.heap_bytes > 128
    x = numbers(2, 3)
    results = interpreter.run({"x": x.T.copy().T})
    np.testing.assert_array_equal(results["y"], 2 * x)
    np.testing.assert_array_equal(results["same"], x)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({}, r"expected inputs \['x'\], got \[\]"),
        ({"z": 0}, r"expected inputs \['x'\]"),
        ({"x": np.zeros((3, 2), np.float32)}, r"float32\[2, 3\], got float32\[3, 2\]"),
        ({"x": np.zeros((2, 3))}, "got float64"),
    ],
)
def test_inputs_are_checked(path: Path, inputs: dict[str, Any], words: str) -> None:
    with Interpreter(path) as interpreter, pytest.raises(ValueError, match=words):
        interpreter.run(inputs)


def test_inputs_have_names(path: Path) -> None:
    given: Any = numbers(2, 3)
    words = r"expected a map from the names \['x'\] to arrays, got a NumPy array"
    with Interpreter(path) as interpreter, pytest.raises(TypeError, match=words):
        interpreter.run(given)


def test_a_closed_interpreter_says_so(path: Path) -> None:
    interpreter = Interpreter(path)
    interpreter.close()
    interpreter.close()
    with pytest.raises(ValueError, match="closed"):
        interpreter.run({"x": np.zeros((2, 3), np.float32)})


def test_failures_have_the_classes_of_their_codes(path: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.NotFoundError, match="none"):
        Interpreter(tmp_path / "none")
    with pytest.raises(errors.NotFoundError, match="expected a model file, got the folder"):
        Interpreter(tmp_path)
    with pytest.raises(errors.ResourceExhaustedError):
        Interpreter(path, memory_limit=100)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(errors.DataLossError):
        Interpreter(path)
    path.write_bytes(b"")
    with pytest.raises(errors.DataLossError):
        Interpreter(path)
    write_model(path, Model((), (ModelNode("n", "NoSuchOp", (), (), {}),), {}, {}))
    with pytest.raises(errors.UnimplementedError, match="NoSuchOp"):
        Interpreter(path)


def test_kernels_tell_what_may_share_memory() -> None:
    with Graph().as_default():
        x = placeholder(dtypes.float32, [4, 6])
        y = placeholder(dtypes.float32, [4, 6])
        late = x + y
        model = lower({"x": x, "y": y}, {"out": nn.softmax(reshape(late * x, [24]))}, False)
    found = dict(zip((node.op for node in model.nodes), probe(model), strict=True))
    # The sum could lie in x too, which is still needed.
    assert found == {"Add": {0: 1}, "Mul": {0: 0}, "Reshape": {0: 0}, "Softmax": {0: 0}}


def test_constants_are_never_shared() -> None:
    with Graph().as_default():
        x = placeholder(dtypes.float32, [2, 2])
        model = lower({"x": x}, {"out": matmul(x, x) + np.ones((2, 2), np.float32)}, False)
    assert probe(model) == [{}, {0: 0}]
