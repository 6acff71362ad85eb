"""The rule that joins products with what is applied to them, by the steps it gives."""

from collections.abc import Iterator

import numpy as np
import pytest

from qanat.core import dtypes
from qanat.core.base_ops import constant
from qanat.core.graph import Graph, Output
from qanat.core.kernel_table import KernelTable
from qanat.core.passes.optimise import optimise
from qanat.core.passes.prune import prune
from qanat.core.passes.step_graph import Node
from qanat.core.passes.verify import verify
from qanat.ops import matmul, nn

FUSED = KernelTable(
    {"CPU": [(op, {"T": dtypes.float32.number}) for op in ("_FusedConv2D", "_FusedMatMul")]}
)


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with Graph().as_default():
        yield


def zeros(*shape: int) -> Output:
    return constant(np.zeros(shape, np.float32))


def optimised(*fetches: Output) -> list[Node]:
    pruned = prune([], fetches, [])
    placed = pruned.with_nodes([node.replace(device="/device:CPU:0") for node in pruned])
    step = verify(optimise(placed, FUSED), "optimise")
    return [node for node in step if node.op != "Const"]


def convolved() -> Output:
    return nn.conv2d(zeros(1, 5, 5, 2), zeros(3, 3, 2, 4), [1, 2, 2, 1], "SAME")


def test_convolution_bias_and_relu_are_one_node() -> None:
    y = nn.relu(nn.bias_add(convolved(), zeros(4)))
    (node,) = optimised(y)
    assert (node.name, node.op, node.shapes[0]) == (y.op.name, "_FusedConv2D", y.shape)
    assert node.attrs["activation"] == "Relu"
    assert node.attrs["strides"] == [1, 2, 2, 1]
    assert len(node.inputs) == 3


def test_a_product_with_a_bias_alone_is_joined_too() -> None:
    (node,) = optimised(nn.bias_add(matmul(zeros(2, 3), zeros(4, 3), transpose_b=True), zeros(4)))
    assert (node.op, node.attrs["activation"], node.attrs["transpose_b"]) == (
        "_FusedMatMul",
        "",
        True,
    )


def test_what_others_see_stays() -> None:
    biased = nn.bias_add(convolved(), zeros(4))
    ops = [node.op for node in optimised(nn.relu(biased), biased)]
    assert ops == ["_FusedConv2D", "Relu"]
    product = convolved()
    ops = [node.op for node in optimised(nn.relu(nn.bias_add(product, zeros(4))), product)]
    assert ops == ["Conv2D", "BiasAdd", "Relu"]
