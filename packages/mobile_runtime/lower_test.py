"""From a step to a model: nodes, values, and what a phone cannot run."""

from typing import Annotated, Any

import numpy as np
import pytest

from qanat import ops
from qanat.core import dtypes, errors
from qanat.core.base_ops import constant, placeholder
from qanat.core.graph import Graph
from qanat.core.op_def import In, Shapes, op
from qanat.core.python_kernel import python_kernel
from qanat.core.session import Session
from qanat.core.shapes import TensorShape
from qanat.mobile_runtime.export import inference_step
from qanat.mobile_runtime.lower import lower
from qanat.ops import nn

HERE = __file__.rpartition("/")[2]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def test_a_product_with_bias_and_relu_is_one_node() -> None:
    x = placeholder(dtypes.float32, [None, 3], name="x")
    w = np.ones((3, 2), np.float32)
    y = nn.relu(nn.bias_add(ops.matmul(x, w), np.ones(2, np.float32)), name="y")
    model = lower(inference_step(Session(), {"x": x}, {"y": y}, batch_size=4))
    (node,) = model.nodes
    assert (node.name, node.op, node.attrs["activation"]) == ("y", "_FusedMatMul", "Relu")
    values = [model.values[i] for i in (*node.inputs, *node.outputs)]
    assert [value.shape for value in values] == [(4, 3), (3, 2), (2,), (4, 2)]
    assert [value.data is None for value in values] == [True, False, False, True]
    assert (model.inputs["x"], model.outputs["y"]) == (node.inputs[0], node.outputs[0])


def test_an_output_that_is_an_input_or_a_constant() -> None:
    x = placeholder(dtypes.float32, [None, 3])
    model = lower(inference_step(Session(), {"x": x}, {"same": x, "c": constant([1.0])}))
    assert model.nodes == ()
    assert model.outputs["same"] == model.inputs["x"]
    np.testing.assert_array_equal(model.values[model.outputs["c"]].data, [1.0])


def test_a_size_that_only_a_run_knows_is_refused() -> None:
    x = placeholder(dtypes.float32, [None, 3])
    with pytest.raises(errors.ShapeError, match=f"known before the model runs.*{HERE}"):
        lower(inference_step(Session(), {"x": x}, {"y": ops.where(x > 0)}))


def test_strings_are_refused() -> None:
    x = placeholder(dtypes.string, [2], name="words")
    with pytest.raises(errors.UnimplementedError, match=f"numbers or bools.*words.*{HERE}"):
        lower(inference_step(Session(), {"x": x}, {"y": x}))


@op("NoKernelTest", outputs="y: float32", differentiable=False)
def no_kernel(x: Annotated[In, "float32"]) -> Shapes:
    """Nothing runs it."""
    return [x.shape]


@op("PythonKernelTest", outputs="y: float32", differentiable=False)
def in_python(x: Annotated[In, "float32"]) -> Shapes:
    """Python runs it."""
    return [TensorShape([1])]


@python_kernel("PythonKernelTest")
def _(x: Any) -> Any:
    return np.zeros(1, np.float32)


def test_an_op_without_a_native_kernel_is_refused() -> None:
    x = placeholder(dtypes.float32, [1])
    for make, message in ((no_kernel, "none on any device"), (in_python, "written in Python")):
        with pytest.raises(errors.UnimplementedError, match=f"{message}.*'it.*{HERE}"):
            lower(inference_step(Session(), {"x": x}, {"y": make(x, name="it")}))
